import type { JsonObject } from '@chancery/protocol'
import type { Query } from './target.ts'

/** One request for a handler: decoded once, with limited size, and with the bytes of its JSON. */
export interface Call {
  readonly requestId: string
  /** Method and path template of the route, for logs and audit. */
  readonly routeId: string
  readonly method: string
  /** Percent-decoded, without query. Signatures cover this form. */
  readonly path: string
  readonly params: { readonly [name: string]: string }
  readonly query: Query
  readonly headers: RequestHeaders
  readonly body: JsonObject
  /** Address of the caller; from the headers of trusted proxies when they are configured. */
  readonly remoteAddress: string
  /** Scheme and host that the caller used, as reported by the configured proxies. */
  readonly origin: string
  /** Ends when the caller has its response or has gone. Long work ends with it. */
  readonly signal: AbortSignal
}

/** Header access that shows repetition. Node's own object joins or drops repeated names. */
export interface RequestHeaders {
  /** The first value, or undefined. */
  get(name: string): string | undefined
  /** Every value in order of appearance. */
  all(name: string): readonly string[]
}

/** Headers as the parser lists them, alternating names and values. Searched on demand, because few are read. */
export class RawHeaders implements RequestHeaders {
  readonly #raw: readonly string[]

  constructor(raw: readonly string[]) {
    this.#raw = raw
  }

  get(name: string): string | undefined {
    const wanted = name.toLowerCase()
    for (let i = 0; i + 1 < this.#raw.length; i += 2) if (this.#isNamed(i, wanted)) return this.#raw[i + 1] ?? ''
    return undefined
  }

  all(name: string): readonly string[] {
    const wanted = name.toLowerCase()
    const found: string[] = []
    for (let i = 0; i + 1 < this.#raw.length; i += 2) if (this.#isNamed(i, wanted)) found.push(this.#raw[i + 1] ?? '')
    return found
  }

  #isNamed(index: number, wanted: string): boolean {
    const name = this.#raw[index]
    return name?.length === wanted.length && name.toLowerCase() === wanted
  }
}
