import { GatewayRefusal } from '@chancery/contract'
import type { Instant } from '@chancery/protocol'
import { Thread } from '@chancery/service-kit'
import type { TrustSnapshot } from '../../trust/snapshot.ts'
import type { BatchResult, PrepareRequest, Prepared, RunRequest } from './batch-calls.ts'

interface Seat {
  thread: Thread
  /** Version of the policy the thread holds. */
  version: number
}

export interface BatchJob extends PrepareRequest {
  readonly trust: TrustSnapshot
  readonly now: () => Instant
  /** Called with the number of certificates before any is judged; refuses by throwing. */
  readonly admit: (count: number) => Promise<void>
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

  async #runOn(seat: Seat, { bytes, maxBatch, networks, trust, now, admit }: BatchJob): Promise<BatchResult> {
    const prepared = await seat.thread.call<Prepared>('prepare', { bytes, maxBatch, networks } satisfies PrepareRequest)
    if ('refusal' in prepared) throw new GatewayRefusal(prepared.refusal, prepared.details)
    await admit(prepared.count)
    const { version } = trust.data
    const request: RunRequest = { now: now(), version, trust: seat.version === version ? undefined : trust.data }
    seat.version = version
    return seat.thread.call<BatchResult>('run', request)
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
