import type { MaybePromise } from '@chancery/service-kit'
import { FairThread, INLINE_BODY_BYTES, type ThreadCaller } from '../../threads/fair-thread.ts'
import { type BodyKind, type ResponseForm, hasForm, kindOfBody } from './json-checks.ts'

/** Checks forwarded bodies and responses: short ones at once, long ones in a thread that callers share round robin. */
export class ProxyReader {
  readonly #thread = new FairThread('./checking-thread', import.meta.url)

  kindOfBody(bytes: Uint8Array, caller: ThreadCaller): MaybePromise<BodyKind> {
    if (bytes.length <= INLINE_BODY_BYTES) return kindOfBody(bytes)
    return this.#thread.call<BodyKind>(caller, 'kindOfBody', bytes)
  }

  hasForm(bytes: Uint8Array, form: ResponseForm, caller: ThreadCaller): MaybePromise<boolean> {
    if (bytes.length <= INLINE_BODY_BYTES) return hasForm(bytes, form)
    return this.#thread.call<boolean>(caller, 'hasForm', { bytes, form })
  }

  async close(): Promise<void> {
    await this.#thread.close()
  }
}
