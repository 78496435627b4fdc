import type { Instant, JoinCertificate } from '@chancery/protocol'
import type { ClientCall } from '../../edge/call.ts'
import { FairThread } from '../../threads/fair-thread.ts'
import type { Holder } from '../../threads/fair-thread.ts'
import type { BatchRequest, Checked, ReadCertificate, Refused, SingleRequest } from './batch-calls.ts'
import { orThrow } from './batch-pool.ts'
import type { BroughtAnswer, BroughtRequest } from './judge-brought.ts'

/** Larger bodies are read beside the event loop: reading them there would hold everybody up. */
export const READ_HERE_BYTES = 131_072

/** Callers take turns by client; what is too late is not read any more. */
export function holderOf(call: ClientCall): Holder {
  return { id: call.client.id, check: () => call.checkDeadline() }
}

/** Reads what is too long for the event loop, in a thread where callers take turns. */
export class ReadingDesk {
  readonly #thread = new FairThread('./reading-thread', import.meta.url)

  /** Refuses as the batch itself would be refused, whatever else is under way. */
  async checkBatch(request: BatchRequest, holder: Holder): Promise<void> {
    orThrow(await this.#thread.call<Checked>(holder, 'checkBatch', request))
  }

  async readCertificate(request: SingleRequest, holder: Holder): Promise<JoinCertificate> {
    return orThrow(await this.#thread.call<ReadCertificate>(holder, 'readCertificate', request)).certificate
  }

  async judgeBrought(request: BroughtRequest & { readonly now: Instant }, holder: Holder): Promise<BroughtAnswer> {
    return orThrow(await this.#thread.call<BroughtAnswer | Refused>(holder, 'judgeBrought', request))
  }

  async close(): Promise<void> {
    await this.#thread.close()
  }
}
