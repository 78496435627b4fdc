import { readBaseUrl } from './url.ts'
import { RequestError } from '../errors.ts'

/**
 * The instances of one authority. One is in use at a time, by all calls of a client: an instance that failed is left
 * once, not by every caller on its own.
 */
export class Endpoints {
  readonly all: readonly string[]
  #at = 0

  constructor(given: string | readonly string[]) {
    this.all = [...new Set((typeof given === 'string' ? [given] : given).map(readBaseUrl))]
    if (this.all.length === 0) throw new RequestError('the address of the authority is missing')
  }

  get current(): string {
    return this.all[this.#at] ?? ''
  }

  /** Moves on from an instance that failed, unless another call already did. */
  leave(failed: string): void {
    if (this.current === failed) this.#at = (this.#at + 1) % this.all.length
  }
}
