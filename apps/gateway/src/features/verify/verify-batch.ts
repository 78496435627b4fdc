import { CONTENT_TYPES } from '@chancery/contract'
import { HttpResponse } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import { INLINE_BODY_BYTES } from '../../threads/fair-thread.ts'
import { countCertificates } from './certificate-quota.ts'
import { verifyWithCallerTrust } from './verify-development.ts'
import { callerOf } from './body-worker.ts'
import type { VerifyParts } from './parts.ts'

/**
 * POST /verify/batch
 * Verifies all certificates at one instant and under one policy, one after another, in a thread that also reads them.
 */
export async function verifyBatch(call: ClientCall, parts: VerifyParts): Promise<HttpResponse> {
  const bytes = await call.readBody()
  const { trust, client, context } = call
  if (trust === undefined) return verifyDevelopmentBatch(bytes, call, parts)
  const { maxBatch } = parts.settings
  const request = { bytes, maxBatch, networks: client.networks }
  // Errors of the request are reported before lack of capacity (protocol/gateway 7.3).
  if (!parts.concurrency.hasBatchSlot) await parts.bodyWorker.checkBatch(request, callerOf(call))
  const result = await parts.concurrency.runBatch(() =>
    parts.batches.run({
      ...request,
      trust,
      now: () => parts.clock.now(),
      isAudited: parts.state !== undefined,
      admit:
        client.certificatesPerMinute === undefined ? undefined : (count) => countCertificates(client, count, parts),
    }),
  )
  countDecisions(parts, result)
  recordNetwork(call)
  if (result.audited !== undefined) {
    context.trust_decisions = result.audited.decisions
    context.certificate_digests = result.audited.digests
  }
  return new HttpResponse(result.body, CONTENT_TYPES.json)
}

async function verifyDevelopmentBatch(bytes: Uint8Array, call: ClientCall, parts: VerifyParts): Promise<HttpResponse> {
  const request = { bytes, kind: 'batch', maxBatch: parts.settings.maxBatch, now: parts.clock.now() } as const
  const { body, decisions } = await parts.concurrency.runBatch(() =>
    bytes.length > INLINE_BODY_BYTES
      ? parts.bodyWorker.verifyWithCallerTrust(request, callerOf(call))
      : verifyWithCallerTrust(request),
  )
  const trusted = decisions.filter((decision) => decision.trusted).length
  countDecisions(parts, { trusted, untrusted: decisions.length - trusted })
  call.context.trust_decisions = decisions
  return new HttpResponse(body, CONTENT_TYPES.json)
}

function countDecisions(
  { metrics }: VerifyParts,
  { trusted, untrusted }: { readonly trusted: number; readonly untrusted: number },
): void {
  metrics.decisions.with({ result: 'trusted' }).increase(trusted)
  metrics.decisions.with({ result: 'untrusted' }).increase(untrusted)
}

/** Records the network of a client that has only one. With several, the decisions do not name one. */
function recordNetwork({ context, client }: ClientCall): void {
  const [only, ...more] = client.networks
  if (only !== undefined && more.length === 0) context.network = only
}
