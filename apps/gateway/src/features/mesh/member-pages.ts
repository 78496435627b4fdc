import type { ObservedNetwork } from './mesh-document.ts'

/** Stores the members of every network of one observation as pages of text. */
export class MemberPages {
  readonly #pages: ReadonlyMap<string, readonly string[]>
  /** Identifies the observation in its cursors: a cursor of one observation is not valid in another. */
  readonly #number: number

  constructor(networks: readonly ObservedNetwork[], number: number) {
    this.#pages = new Map(networks.map(({ id, projection }) => [id, projection.memberPages]))
    this.#number = number
  }

  /** Returns the first page, or undefined when the network is not published. */
  first(network: string): string | undefined {
    return this.#text(network, 0)
  }

  /** Returns the page of a cursor, or undefined when the cursor belongs to another observation. */
  at(network: string, cursor: string): string | undefined {
    const position = /^([0-9]{1,15})\.([0-9]{1,6})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))
    if (position === null || Number(position[1]) !== this.#number) return undefined
    return this.#text(network, Number(position[2]))
  }

  #text(network: string, number: number): string | undefined {
    const pages = this.#pages.get(network)
    const page = number === 0 ? (pages?.[0] ?? '[]') : pages?.[number]
    if (pages === undefined || page === undefined) return undefined
    const next = number + 1 < pages.length ? `"${this.#cursor(number + 1)}"` : 'null'
    return `{"members":${page},"next_cursor":${next}}`
  }

  #cursor(page: number): string {
    return Buffer.from(`${this.#number}.${page}`).toString('base64url')
  }
}
