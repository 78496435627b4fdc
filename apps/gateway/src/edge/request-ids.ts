import type { Ids } from '@chancery/service-kit'

const INSTANCE_LENGTH = 12

/** Returns the name of the process that made a request id: the beginning of it. */
export function instanceOf(requestId: string): string {
  return requestId.slice(0, INSTANCE_LENGTH)
}

/** `<boot value>-<counter>`: always our own, unique across restarts, and sorted within one (protocol/gateway 5.4). */
export class RequestIds {
  readonly #instance: string
  #count = 0

  constructor(ids: Ids) {
    this.#instance = ids.hex(32)
  }

  /** The beginning of every id of this process. */
  get instance(): string {
    return instanceOf(this.#instance)
  }

  next(): string {
    this.#count += 1
    return `${this.#instance}-${this.#count.toString(16).padStart(16, '0')}`
  }
}
