import { GatewayRefusal } from '@chancery/contract'
import type { Instant, JoinCertificate } from '@chancery/protocol'
import { type MaybePromise, Thread } from '@chancery/service-kit'
import type { TrustSnapshot } from '../../trust/snapshot.ts'
import type {
  BatchRequest,
  BatchResult,
  CertificateResult,
  CheckResult,
  RefusedResult,
  SingleRequest,
  VerifyRequest,
} from './audited-decision.ts'
import type { ClientCall } from '../../edge/call.ts'
import { FairThread, type ThreadCaller } from '../../threads/fair-thread.ts'
import type { CallerRequest, DevelopmentVerdict } from './verify-development.ts'

interface WorkerSlot {
  thread: Thread
  /** Version of the policy in the thread. */
  version: number
}

export interface BatchJob extends BatchRequest {
  readonly trust: TrustSnapshot
  readonly now: () => Instant
  readonly isAudited: boolean
  /** Called with the number of certificates before any is verified. Throws to refuse. Undefined: no quota. */
  readonly admit: ((count: number) => MaybePromise<void>) | undefined
}

/** Runs batches in threads, as many as batches may run at once. The concurrency limit guarantees a free one. */
export class BatchPool {
  readonly #free: WorkerSlot[] = []
  readonly #all: WorkerSlot[] = []

  async run(job: BatchJob): Promise<BatchResult> {
    const slot = this.#free.pop() ?? this.#newSeat()
    try {
      return await this.#runOn(slot, job)
    } finally {
      if (slot.thread.hasEnded) this.#forget(slot)
      else this.#free.push(slot)
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map(({ thread }) => thread.close()))
  }

  async #runOn(slot: WorkerSlot, { bytes, maxBatch, networks, admit, ...job }: BatchJob): Promise<BatchResult> {
    const request: BatchRequest = { bytes, maxBatch, networks }
    if (admit === undefined) return this.#judge(slot, job, request)
    const { count } = throwIfRefused(await slot.thread.call<CheckResult>('prepare', request))
    await admit(count)
    return this.#judge(slot, job, undefined)
  }

  /** Verifies a batch. Without `request`, the batch that the thread has prepared. */
  async #judge(
    slot: WorkerSlot,
    { trust, now, isAudited }: Pick<BatchJob, 'trust' | 'now' | 'isAudited'>,
    request: BatchRequest | undefined,
  ): Promise<BatchResult> {
    const { version } = trust.data
    const isKnown = slot.version === version
    slot.version = version
    const verification: VerifyRequest = { now: now(), version, trust: isKnown ? undefined : trust.data, isAudited }
    return throwIfRefused(await slot.thread.call<BatchResult | RefusedResult>('verify', { request, verification }))
  }

  #newSeat(): WorkerSlot {
    const slot = { thread: new Thread('./batch-thread', import.meta.url), version: 0 }
    this.#all.push(slot)
    return slot
  }

  #forget(slot: WorkerSlot): void {
    this.#all.splice(this.#all.indexOf(slot), 1)
  }
}

/** Throws the refusal that another thread returned. */
function throwIfRefused<Value extends object>(answer: Value | RefusedResult): Value {
  if ('refusal' in answer) throw new GatewayRefusal(answer.refusal, answer.details)
  return answer
}

/** Identifies the caller by its client. A request after its deadline is not read. */
export function callerOf(call: ClientCall): ThreadCaller {
  return { id: call.client.id, check: () => call.checkDeadline() }
}

/** Reads bodies that are too long for the event loop, in a thread that callers share round robin. */
export class BodyWorker {
  readonly #thread = new FairThread('./body-worker-thread', import.meta.url)

  /** Refuses a malformed batch, also when no batch could start now. */
  async checkBatch(request: BatchRequest, caller: ThreadCaller): Promise<void> {
    throwIfRefused(await this.#thread.call<CheckResult>(caller, 'checkBatch', request))
  }

  async readCertificate(request: SingleRequest, caller: ThreadCaller): Promise<JoinCertificate> {
    return throwIfRefused(await this.#thread.call<CertificateResult>(caller, 'readCertificate', request)).certificate
  }

  async verifyWithCallerTrust(
    request: CallerRequest & { readonly now: Instant },
    caller: ThreadCaller,
  ): Promise<DevelopmentVerdict> {
    return throwIfRefused(
      await this.#thread.call<DevelopmentVerdict | RefusedResult>(caller, 'verifyWithCallerTrust', request),
    )
  }

  async close(): Promise<void> {
    await this.#thread.close()
  }
}
