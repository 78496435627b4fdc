import { CONTENT_TYPES, GatewayRefusal } from '@chancery/contract'
import { HttpResponse, type MaybePromise, andThen, withFinally } from '@chancery/service-kit'
import { toRetrySeconds } from '../../edge/error-body.ts'
import type { ClientCall } from '../../edge/call.ts'
import { INLINE_BODY_BYTES } from '../../threads/fair-thread.ts'
import { verifyWithCallerTrust } from './verify-development.ts'
import { type BatchPool, type BodyWorker, callerOf } from './batch-pool.ts'
import type { Core } from '../../core.ts'
import type { GatewaySettings } from '../../settings/gateway-settings.ts'
import type { ClientPolicy } from '../../policy/policy.ts'

/**
 * Limits concurrent cryptography. Nothing is queued: without a free slot the request is refused (protocol/gateway 7.3).
 * A slot is released when the work ends, also when its caller is gone.
 */
export class ConcurrencyLimit {
  readonly #workers: number
  readonly #batches: number
  #active = 0
  #activeBatches = 0

  constructor(workers: number, batches: number) {
    this.#workers = workers
    this.#batches = batches
  }

  get active(): number {
    return this.#active
  }

  run<Value>(work: () => MaybePromise<Value>): MaybePromise<Value> {
    this.#takeWorker()
    return withFinally(work, () => {
      this.#active -= 1
    })
  }

  /** Returns whether a batch could start now. */
  get hasBatchSlot(): boolean {
    return this.#activeBatches < this.#batches && this.#active < this.#workers
  }

  async runBatch<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#activeBatches >= this.#batches) throw new GatewayRefusal('batch_capacity')
    this.#takeWorker()
    this.#activeBatches += 1
    try {
      return await work()
    } finally {
      this.#activeBatches -= 1
      this.#active -= 1
    }
  }

  #takeWorker(): void {
    if (this.#active >= this.#workers) throw new GatewayRefusal('crypto_capacity')
    this.#active += 1
  }
}

/** Lists what the handlers of this feature use. */
export interface VerifyParts extends Pick<Core, 'clock' | 'metrics' | 'quota' | 'state'> {
  readonly settings: Pick<GatewaySettings, 'maxBatch'>
  readonly concurrency: ConcurrencyLimit
  readonly batches: BatchPool
  readonly bodyWorker: BodyWorker
}

/** Counts certificates against the second quota of a client (protocol/gateway 15). */
export function countCertificates(
  client: ClientPolicy,
  count: number,
  parts: Pick<VerifyParts, 'metrics' | 'quota'>,
): MaybePromise<void> {
  const limit = client.certificatesPerMinute
  if (limit === undefined) return undefined
  return andThen(parts.quota.claim({ clientId: client.id, kind: 'certificates', limit, cost: count }), (result) => {
    if (result === undefined) return
    parts.metrics.quotaDenied.increase()
    throw new GatewayRefusal('certificate_quota', undefined, { retryAfterSeconds: toRetrySeconds(result.retryAfterMs) })
  })
}

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
