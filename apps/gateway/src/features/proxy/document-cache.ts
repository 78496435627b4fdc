import type { NetworkPolicy } from '../../policy/policy.ts'
import type { UpstreamResponse } from '../../outbound/upstream-exchange.ts'

/** A response that the authority can confirm by its ETag. Its bytes are valid JSON. */
export interface CachedCopy {
  readonly etag: string
  readonly body: string | Uint8Array
}

/** Memory for all documents of all networks. */
const MAX_BYTES = 33_554_432
const STRONG_ETAG = /^"[!#-~]{1,128}"$/
/** Headers that are the same in every request for a document. A response may vary by them. */
const SAME_IN_ALL: readonly string[] = ['accept', 'accept-encoding']

interface Entry extends CachedCopy {
  readonly network: NetworkPolicy
  readonly bytes: number
}

/**
 * Documents of authorities, to be used again only when the authority confirms their ETag. When memory is short, the
 * oldest ones are dropped. A reload replaces the networks, so documents of the former policy are not found.
 */
export class DocumentCache {
  readonly #entries = new Map<string, Entry>()
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes: number = MAX_BYTES) {
    this.#maxBytes = maxBytes
  }

  find(network: NetworkPolicy, target: string): CachedCopy | undefined {
    const entry = this.#entries.get(keyOf(network, target))
    return entry?.network === network ? entry : undefined
  }

  put(network: NetworkPolicy, target: string, document: CachedCopy): void {
    this.drop(network, target)
    const bytes = document.body.length
    if (bytes > this.#maxBytes) return
    for (const [key, oldest] of this.#entries) {
      if (this.#bytes + bytes <= this.#maxBytes) break
      this.#forget(key, oldest)
    }
    this.#entries.set(keyOf(network, target), { ...document, network, bytes })
    this.#bytes += bytes
  }

  drop(network: NetworkPolicy, target: string): void {
    const key = keyOf(network, target)
    const entry = this.#entries.get(key)
    if (entry !== undefined) this.#forget(key, entry)
  }

  #forget(key: string, { bytes }: Entry): void {
    this.#entries.delete(key)
    this.#bytes -= bytes
  }
}

/** Returns the ETag of a response that may be cached, otherwise undefined. */
export function etagToCache({ status, headers }: UpstreamResponse): string | undefined {
  const { etag, vary } = headers
  if (status !== 200 || typeof etag !== 'string' || !STRONG_ETAG.test(etag)) return undefined
  if (headers['content-encoding'] !== undefined || /\bno-store\b/i.test(textOf(headers['cache-control'])))
    return undefined
  const names = textOf(vary).toLowerCase().split(',')
  return names.every((name) => name.trim() === '' || SAME_IN_ALL.includes(name.trim())) ? etag : undefined
}

function textOf(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(',') : (value ?? '')
}

function keyOf({ name }: NetworkPolicy, target: string): string {
  return `${name}\0${target}`
}
