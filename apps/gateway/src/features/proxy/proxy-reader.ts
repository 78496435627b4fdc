import type { Soon } from '@chancery/service-kit'
import { FairThread } from '../../threads/fair-thread.ts'
import type { Holder } from '../../threads/fair-thread.ts'
import { hasForm, kindOfBody } from './json-checks.ts'
import type { AnswerForm, BodyKind } from './json-checks.ts'

/** Longer bodies and answers are read beside the event loop: reading them there would hold everybody up. */
export const READ_HERE_BYTES = 131_072

/** Judges what passes through: short texts at once, long ones in a thread where callers take turns. */
export class ProxyReader {
  readonly #thread = new FairThread('./checking-thread', import.meta.url)

  kindOfBody(bytes: Uint8Array, holder: Holder): Soon<BodyKind> {
    if (bytes.length <= READ_HERE_BYTES) return kindOfBody(bytes)
    return this.#thread.call<BodyKind>(holder, 'kindOfBody', bytes)
  }

  hasForm(bytes: Uint8Array, form: AnswerForm, holder: Holder): Soon<boolean> {
    if (bytes.length <= READ_HERE_BYTES) return hasForm(bytes, form)
    return this.#thread.call<boolean>(holder, 'hasForm', { bytes, form })
  }

  async close(): Promise<void> {
    await this.#thread.close()
  }
}
