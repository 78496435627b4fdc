import type { Ids } from '@chancery/service-kit'
import { instanceOf } from '../audit/request-audit.ts'

/**
 * Creates ids `<boot value>-<counter>`: never taken from the caller, unique across restarts, and sorted within one
 * (protocol/gateway 5.4).
 */
export class RequestIds {
  readonly #instance: string
  #count = 0

  constructor(ids: Ids) {
    this.#instance = ids.hex(32)
  }

  /** The prefix of every id of this process. */
  get instance(): string {
    return instanceOf(this.#instance)
  }

  next(): string {
    this.#count += 1
    return `${this.#instance}-${this.#count.toString(16).padStart(16, '0')}`
  }
}
