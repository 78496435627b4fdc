import { CONTENT_TYPES, GATEWAY_ROUTES } from '@chancery/contract'
import type { Core, Feature } from '../../core.ts'
import type { GatewaySettings } from '../../settings/gateway-settings.ts'
import { BatchPool, BodyWorker, callerOf } from './batch-pool.ts'
import { ConcurrencyLimit, type VerifyParts, countCertificates, verifyBatch } from './verify-batch.ts'
import type { JoinCertificate, TrustDecision } from '@chancery/protocol'
import { HttpResponse, type MaybePromise, andThen } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import type { TrustSnapshot } from '../../trust/snapshot.ts'
import { INLINE_BODY_BYTES } from '../../threads/fair-thread.ts'
import { digestOfCertificate, toAudited, verifyCertificate } from './audited-decision.ts'
import { verifyWithCallerTrust } from './verify-development.ts'
import { readAllowedSingle } from './requests.ts'

export { digestOfCertificate, toAudited } from './audited-decision.ts'

/**
 * POST /verify
 * Verifies one certificate. A 200 does not mean trust; `trusted` does. One verification is cheap enough for the event
 * loop, but still uses a slot.
 */
function verify(call: ClientCall, parts: VerifyParts): MaybePromise<HttpResponse> {
  return andThen(call.readBody(), (bytes) => {
    const { trust, client } = call
    if (trust === undefined) return verifyDevelopment(bytes, call, parts)
    return andThen(readCertificate(bytes, call, parts), (certificate) =>
      andThen(countCertificates(client, 1, parts), () => decide(certificate, trust, call, parts)),
    )
  })
}

function decide(
  certificate: JoinCertificate,
  { networks, data }: TrustSnapshot,
  call: ClientCall,
  parts: VerifyParts,
): MaybePromise<HttpResponse> {
  const decided = parts.concurrency.run(() =>
    verifyCertificate(certificate, { networks, revision: data.revision, now: parts.clock.now() }),
  )
  return andThen(decided, (decision) => {
    recordDecision(call, parts, certificate, decision)
    return new HttpResponse(JSON.stringify(decision), CONTENT_TYPES.json)
  })
}

function readCertificate(
  bytes: Uint8Array,
  call: ClientCall,
  { bodyWorker }: VerifyParts,
): MaybePromise<JoinCertificate> {
  const request = { bytes, networks: call.client.networks }
  if (bytes.length <= INLINE_BODY_BYTES) return readAllowedSingle(request)
  return bodyWorker.readCertificate(request, callerOf(call))
}

async function verifyDevelopment(bytes: Uint8Array, call: ClientCall, parts: VerifyParts): Promise<HttpResponse> {
  const request = { bytes, kind: 'single', maxBatch: 1, now: parts.clock.now() } as const
  const { body, decisions } = await parts.concurrency.run(() =>
    bytes.length > INLINE_BODY_BYTES
      ? parts.bodyWorker.verifyWithCallerTrust(request, callerOf(call))
      : verifyWithCallerTrust(request),
  )
  const [decision] = decisions
  if (decision !== undefined) {
    parts.metrics.decisions.with({ result: decision.trusted ? 'trusted' : 'untrusted' }).increase()
    call.context.trust_decision = decision
  }
  return new HttpResponse(body, CONTENT_TYPES.json)
}

function recordDecision(
  { context }: ClientCall,
  { metrics, state }: VerifyParts,
  certificate: JoinCertificate,
  decision: TrustDecision,
): void {
  metrics.decisions.with({ result: decision.trusted ? 'trusted' : 'untrusted' }).increase()
  context.trust_decision = toAudited(decision)
  context.network = certificate.network_name
  const { issuer, crl_sequence } = decision.evaluation
  if (issuer !== null && crl_sequence !== null) context.crl = { issuer, sequence: crl_sequence }
  if (state !== undefined) context.certificate_digests = [digestOfCertificate(certificate)]
}

export interface VerifyOptions extends Pick<Core, 'clock' | 'metrics' | 'quota' | 'state'> {
  readonly settings: Pick<GatewaySettings, 'maxBatch' | 'cpuWorkers' | 'maxBatchJobs'>
}

/** Opens the verification of certificates, with its threads and its metric. */
export function openVerify({ settings, clock, metrics, quota, state }: VerifyOptions): Feature {
  const concurrency = new ConcurrencyLimit(settings.cpuWorkers, settings.maxBatchJobs)
  const [batches, bodyWorker] = [new BatchPool(), new BodyWorker()]
  const parts: VerifyParts = { settings, clock, metrics, quota, state, concurrency, batches, bodyWorker }
  metrics.registry.gauge({
    name: 'gateway_crypto_active',
    help: 'Slots for cryptography in use.',
    together: 'sum',
    collect: () => concurrency.active,
  })
  return {
    routes: [
      { route: GATEWAY_ROUTES.verify, client: (call) => verify(call, parts) },
      { route: GATEWAY_ROUTES.verifyBatch, client: (call) => verifyBatch(call, parts) },
    ],
    jobs: [],
    async close() {
      await batches.close()
      await bodyWorker.close()
    },
  }
}
