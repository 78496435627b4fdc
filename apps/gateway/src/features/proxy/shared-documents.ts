import { CONTENT_TYPES, GatewayRefusal } from '@chancery/contract'
import { HttpResponse, type MaybePromise, andThen, endOfLoopTurn } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import type { UpstreamResponse } from '../../outbound/upstream-exchange.ts'
import type { NetworkPolicy } from '../../policy/policy.ts'
import { forwardedHeaders, toClientResponse, upstreamRequestId } from './upstream-response.ts'
import { type AdmittedRequest, type ExchangeParts, counted, send } from './send.ts'

/** A response that the authority can confirm by its ETag. Its bytes are valid JSON. */
interface CachedCopy {
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
function etagToCache({ status, headers }: UpstreamResponse): string | undefined {
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

/** Public documents that an authority has in memory and serves with an ETag. */
const DOCUMENTS: ReadonlySet<string> = new Set([
  'attestations-feed-index',
  'attestations-sovereign-revocation-feed',
  'crl-get-crl',
  'public-get-genesis',
  'public-get-policy',
  'public-sovereign-metadata',
])

/** What one request to the authority gave, for all callers that shared it. */
export interface DocumentResult {
  readonly status: number
  readonly theirId: string | undefined
  readonly response: HttpResponse | GatewayRefusal
}

/** Returns whether requests for this target may share one request to the authority: they send nothing of the caller. */
export function isShared({ network, operation }: AdmittedRequest, target: string): boolean {
  return DOCUMENTS.has(operation.id) && target === operation.upstream_path && !network.forwardTraceparent
}

/** A read waits for the running one of the same document, but no longer than this. */
const WAIT_MS = 10

interface Reads {
  /** The read that has not started. */
  next: Promise<DocumentResult> | undefined
  /** The last read that started. It may have ended. */
  running: Promise<unknown>
}

/**
 * Reads documents once for all waiting callers. Every request to the authority starts after the requests that share it
 * have arrived, so no caller gets an older document than with a separate request. A cached document is used only when
 * the authority confirms its ETag in that request.
 */
export class SharedDocuments {
  readonly #cache = new DocumentCache()
  /** By target. A reload replaces the networks. */
  readonly #reads = new WeakMap<NetworkPolicy, Map<string, Reads>>()

  read(admitted: AdmittedRequest, target: string, call: ClientCall, parts: ExchangeParts): Promise<DocumentResult> {
    const reads = this.#readsOf(admitted.network, target)
    reads.next ??= endOfTurnOrRead(reads.running).then(() => {
      // The read starts now. Later callers need another one.
      reads.next = undefined
      const read = this.#ask(admitted, target, call, parts)
      reads.running = read.catch(() => undefined)
      return read
    })
    return reads.next
  }

  #readsOf(network: NetworkPolicy, target: string): Reads {
    const ofNetwork = this.#reads.get(network) ?? new Map<string, Reads>()
    this.#reads.set(network, ofNetwork)
    const reads = ofNetwork.get(target) ?? { next: undefined, running: Promise.resolve() }
    ofNetwork.set(target, reads)
    return reads
  }

  /** Asks with the request id of the first caller. */
  async #ask(
    admitted: AdmittedRequest,
    target: string,
    call: ClientCall,
    parts: ExchangeParts,
  ): Promise<DocumentResult> {
    const { network, operation } = admitted
    const cached = this.#cache.find(network, target)
    const more = cached === undefined ? [] : ['if-none-match', cached.etag]
    const upstream = await send(admitted, { target, body: undefined, more, isShared: true }, call, parts)
    const theirId = upstreamRequestId(upstream)
    const { status } = upstream
    try {
      const response = await counted(operation, parts, () => {
        if (status === 304 && cached !== undefined) return this.#confirmed(admitted, target, cached, upstream)
        return this.#replaced(admitted, target, upstream, (bytes, form) =>
          parts.reader.hasForm(bytes, form, { id: `document ${target}`, check: () => undefined }),
        )
      })
      return { status, theirId, response }
    } catch (error) {
      if (error instanceof GatewayRefusal) return { status, theirId, response: error }
      throw error
    }
  }

  /** The authority says that the cached document is the current one. It must name the same ETag. */
  #confirmed(
    { network }: AdmittedRequest,
    target: string,
    { etag, body }: CachedCopy,
    upstream: UpstreamResponse,
  ): HttpResponse {
    const headers = forwardedHeaders(upstream, upstreamRequestId(upstream))
    if (upstream.headers['etag'] === etag) return new HttpResponse(body, CONTENT_TYPES.json, 200, headers)
    this.#cache.drop(network, target)
    throw new GatewayRefusal('authority_invalid_response', undefined, headers === undefined ? {} : { headers })
  }

  /** Stores a new document only after its form was checked. */
  #replaced(
    { network, operation }: AdmittedRequest,
    target: string,
    upstream: UpstreamResponse,
    hasForm: Parameters<typeof toClientResponse>[3],
  ): MaybePromise<HttpResponse> {
    return andThen(toClientResponse(operation, upstream, upstreamRequestId(upstream), hasForm), (response) => {
      const etag = etagToCache(upstream)
      if (etag === undefined) this.#cache.drop(network, target)
      else this.#cache.put(network, target, { etag, body: response.body })
      return response
    })
  }
}

/** Resolves at the end of this event loop turn, or with a running read. One that stalls does not delay the next one for long. */
async function endOfTurnOrRead(running: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const waited = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, WAIT_MS)
  })
  await Promise.race([running, waited])
  clearTimeout(timer)
  await endOfLoopTurn()
}

/** Lists what the handlers of this feature use. */
export interface ProxyParts extends ExchangeParts {
  readonly documents: SharedDocuments
}
