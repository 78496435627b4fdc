import { GatewayRefusal } from '@chancery/contract'
import type { Instant } from '@chancery/protocol'
import { Thread } from '@chancery/service-kit'
import type { Soon } from '@chancery/service-kit'
import type { TrustSnapshot } from '../../trust/snapshot.ts'
import type { BatchRequest, BatchResult, Checked, JudgeRequest, Refused } from './batch-calls.ts'

interface Seat {
  thread: Thread
  /** Version of the policy the thread holds. */
  version: number
}

export interface BatchJob extends BatchRequest {
  readonly trust: TrustSnapshot
  readonly now: () => Instant
  readonly isAudited: boolean
  /** Called with the number of certificates before any is judged; refuses by throwing. Absent: nobody counts. */
  readonly admit: ((count: number) => Soon<void>) | undefined
}

/** Threads for batches, as many as batches may run at once. The permit of the caller guarantees a free one. */
export class BatchPool {
  readonly #free: Seat[] = []
  readonly #all: Seat[] = []

  async run(job: BatchJob): Promise<BatchResult> {
    const seat = this.#free.pop() ?? this.#newSeat()
    try {
      return await this.#runOn(seat, job)
    } finally {
      if (seat.thread.hasEnded) this.#forget(seat)
      else this.#free.push(seat)
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map(({ thread }) => thread.close()))
  }

  async #runOn(seat: Seat, { bytes, maxBatch, networks, admit, ...job }: BatchJob): Promise<BatchResult> {
    const request: BatchRequest = { bytes, maxBatch, networks }
    if (admit === undefined) return this.#judge(seat, job, request)
    const { count } = orThrow(await seat.thread.call<Checked>('prepare', request))
    await admit(count)
    return this.#judge(seat, job, undefined)
  }

  /** Without a request: the one the thread has prepared. */
  async #judge(
    seat: Seat,
    { trust, now, isAudited }: Pick<BatchJob, 'trust' | 'now' | 'isAudited'>,
    request: BatchRequest | undefined,
  ): Promise<BatchResult> {
    const { version } = trust.data
    const isKnown = seat.version === version
    seat.version = version
    const judging: JudgeRequest = { now: now(), version, trust: isKnown ? undefined : trust.data, isAudited }
    return orThrow(await seat.thread.call<BatchResult | Refused>('judge', { request, judging }))
  }

  #newSeat(): Seat {
    const seat = { thread: new Thread('./batch-thread', import.meta.url), version: 0 }
    this.#all.push(seat)
    return seat
  }

  #forget(seat: Seat): void {
    this.#all.splice(this.#all.indexOf(seat), 1)
  }
}

/** A refusal of the other thread, thrown here. */
export function orThrow<Value extends object>(answer: Value | Refused): Value {
  if ('refusal' in answer) throw new GatewayRefusal(answer.refusal, answer.details)
  return answer
}
