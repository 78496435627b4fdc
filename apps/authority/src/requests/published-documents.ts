import { Refusal } from '@chancery/contract'
import type { Instant } from '@chancery/protocol'
import { type CachedDocument, SharedRead } from '@chancery/service-kit'
import type { Core } from '../core.ts'
import type { Versions } from '../database/locks/versions.ts'
import type { Domain } from '../database/locks/domains.ts'
import { translateDatabaseError } from '../database/open.ts'

/** A signed document ready to be served. */
export interface ServedDocument {
  readonly document: CachedDocument
  /** The end of the signed validity, until which it may be served while the database is unavailable. */
  readonly validUntil?: Instant
  /** When its issuer signs the next one: always, and with something that waits to be named. */
  readonly times?: { readonly refreshAt: Instant; readonly gatherAt: Instant }
}

export interface DocumentSource {
  /** Updates the stored record if it is due, and reads it. */
  load(): Promise<ServedDocument>
  /** True when the cached document should be renewed although its version did not change. */
  isDue?(cached: ServedDocument, versions: Versions, now: Instant): boolean
}

interface Load {
  source: DocumentSource
  readonly load: SharedRead<ServedDocument>
}

/** Memory limit for all documents that are requested by a number: there can be hundreds of them. */
const BOUNDED_BYTES = 64 * 1024 * 1024

/** After this time without a response the database counts as unavailable for readers of a cached document. */
const SILENCE_MS = 3000

export interface DocumentPosition {
  /** Distinguishes two documents of one domain. */
  readonly name: string
  /** Cached only while there is room for all limited documents. Those that came first stay. */
  readonly isBounded?: true
}

interface Cached extends ServedDocument {
  readonly version: number
}

/**
 * Caches signed public documents as bytes. Each request reads the version (one statement for all queued requests), and
 * only a changed version reads the record again. So all instances serve a revocation from the next request on, and a
 * request costs almost nothing.
 */
export class PublishedDocuments {
  readonly #cached = new Map<string, Cached>()
  readonly #loads = new Map<string, Load>()
  readonly #boundedBytes = new Map<string, number>()
  readonly #maxBoundedBytes: number
  readonly #silenceMs: number
  /** Reads that have waited longer than `#silenceMs` and still wait. */
  #silentReads = 0

  constructor(maxBoundedBytes = BOUNDED_BYTES, silenceMs = SILENCE_MS) {
    this.#maxBoundedBytes = maxBoundedBytes
    this.#silenceMs = silenceMs
  }

  serve(
    parts: Pick<Core, 'clock' | 'rollback' | 'versions'>,
    head: Domain,
    source: DocumentSource,
    place: DocumentPosition = { name: head },
  ): Promise<CachedDocument> {
    const cached = this.#cached.get(place.name)
    const isServable = cached !== undefined && !isOver(cached, parts.clock.now())
    // One read waits for the database. The others would wait as long without another result.
    if (isServable && this.#silentReads > 0) return Promise.resolve(cached.document)
    const current = this.#serveCurrent(parts, head, source, place)
    return isServable ? this.#unlessSilent(current, cached.document) : current
  }

  /** Returns the cached document when the database does not respond in time. The read continues for later requests. */
  #unlessSilent(current: Promise<CachedDocument>, cached: CachedDocument): Promise<CachedDocument> {
    return new Promise((resolve, reject) => {
      let isSilent = false
      const timer = setTimeout(() => {
        isSilent = true
        this.#silentReads += 1
        resolve(cached)
      }, this.#silenceMs)
      current.then(resolve, reject).finally(() => {
        clearTimeout(timer)
        if (isSilent) this.#silentReads -= 1
      })
    })
  }

  async #serveCurrent(
    parts: Pick<Core, 'clock' | 'rollback' | 'versions'>,
    head: Domain,
    source: DocumentSource,
    place: DocumentPosition,
  ): Promise<CachedDocument> {
    const { name } = place
    const cached = this.#cached.get(name)
    const now = parts.clock.now()
    try {
      await requireCurrentDatabase(parts)
      const versions = await parts.versions.read()
      const version = versions.versions.get(head) ?? -1
      if (cached?.version === version && source.isDue?.(cached, versions, now) !== true) return cached.document
      const fresh = await this.#load(name, source)
      // Loaded after the version was read, so at least as new. A newer version makes the next request load again.
      this.#cache(place, { ...fresh, version })
      return fresh.document
    } catch (error) {
      // Published and still valid: serving it grants nothing beyond its signature (reliability 2).
      const isAway = error instanceof RolledBackError || translateDatabaseError(error) !== undefined
      if (isAway && cached !== undefined && !isOver(cached, now)) return cached.document
      if (error instanceof Refusal && error.code.endsWith('_not_found')) this.#drop(name)
      if (!(error instanceof RolledBackError)) throw error
      throw new Refusal('service_unavailable', { reason: parts.rollback.reason }, { cause: error })
    }
  }

  /** The tag of a cached document. */
  heldTag(name: string): string | undefined {
    return this.#cached.get(name)?.document.etag
  }

  /** Whether a document is cached and may be served while the database is unavailable. */
  has(name: string, now: Instant): boolean {
    const cached = this.#cached.get(name)
    return cached !== undefined && !isOver(cached, now)
  }

  #cache({ name, isBounded }: DocumentPosition, cached: Cached): void {
    if (isBounded === true) {
      const { length } = cached.document.bytes
      this.#boundedBytes.delete(name)
      const used = [...this.#boundedBytes.values()].reduce((sum, bytes) => sum + bytes, 0)
      if (used + length > this.#maxBoundedBytes) return this.#drop(name)
      this.#boundedBytes.set(name, length)
    }
    this.#cached.set(name, cached)
  }

  #drop(name: string): void {
    this.#boundedBytes.delete(name)
    this.#cached.delete(name)
    this.#loads.delete(name)
  }

  /** Concurrent readers of one record share a load, which started after each of them arrived. */
  #load(name: string, source: DocumentSource): Promise<ServedDocument> {
    const entry: Load = this.#loads.get(name) ?? { source, load: new SharedRead(() => entry.source.load()) }
    entry.source = source
    this.#loads.set(name, entry)
    return entry.load.read()
  }
}

/** The database is rolled back, or may be: nothing it contains may be published again. */
class RolledBackError extends Error {
  override readonly name = 'RolledBackError'
}

/** After a lost connection another server with older data may respond. It is compared before it is used. */
async function requireCurrentDatabase({ rollback }: Pick<Core, 'rollback'>): Promise<void> {
  while (rollback.needsRecheck) await rollback.recheck()
  if (rollback.isHalted()) throw new RolledBackError(rollback.reason)
}

function isOver(cached: Cached, now: Instant): boolean {
  return cached.validUntil !== undefined && now >= cached.validUntil
}
