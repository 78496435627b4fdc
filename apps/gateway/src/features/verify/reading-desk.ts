import type { Instant, JoinCertificate } from '@chancery/protocol'
import { Thread } from '@chancery/service-kit'
import type { BatchRequest, Checked, ReadCertificate, Refused, SingleRequest } from './batch-calls.ts'
import { orThrow } from './batch-pool.ts'
import type { BroughtAnswer, BroughtRequest } from './judge-brought.ts'

/** Larger bodies are read beside the event loop: reading them there would hold everybody up. */
export const READ_HERE_BYTES = 131_072

/** Reads what is too long for the event loop. A thread that ended is replaced at the next body. */
export class ReadingDesk {
  #thread: Thread | undefined

  /** Refuses as the batch itself would be refused, whatever else is under way. */
  async checkBatch(request: BatchRequest): Promise<void> {
    orThrow(await this.#call<Checked>('checkBatch', request))
  }

  async readCertificate(request: SingleRequest): Promise<JoinCertificate> {
    return orThrow(await this.#call<ReadCertificate>('readCertificate', request)).certificate
  }

  async judgeBrought(request: BroughtRequest & { readonly now: Instant }): Promise<BroughtAnswer> {
    return orThrow(await this.#call<BroughtAnswer | Refused>('judgeBrought', request))
  }

  async close(): Promise<void> {
    await this.#thread?.close()
  }

  #call<Value>(operation: string, argument: unknown): Promise<Value> {
    if (this.#thread === undefined || this.#thread.hasEnded) {
      this.#thread = new Thread('./reading-thread', import.meta.url)
    }
    return this.#thread.call<Value>(operation, argument)
  }
}
