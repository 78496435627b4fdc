import { Refusal } from '@chancery/contract'
import type { Instant } from '@chancery/protocol'
import { SharedRead } from '@chancery/service-kit'
import type { CachedDocument } from '@chancery/service-kit'
import type { Core } from '../core.ts'
import type { Versions } from '../database/database.ts'
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
  isDue?(held: ServedDocument, versions: Versions, now: Instant): boolean
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
  readonly stamp: number
}

/**
 * Caches signed public documents as bytes. Each request reads the version (one statement for all queued requests), and
 * only a changed version reads the record again. So all instances serve a revocation from the next request on, and a
 * request costs almost nothing.
 */
export class PublishedDocuments {
  readonly #held = new Map<string, Cached>()
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
    const held = this.#held.get(place.name)
    const isServable = held !== undefined && !isOver(held, parts.clock.now())
    // One read waits for the database. The others would wait as long without another result.
    if (isServable && this.#silentReads > 0) return Promise.resolve(held.document)
    const current = this.#serveCurrent(parts, head, source, place)
    return isServable ? this.#unlessSilent(current, held.document) : current
  }

  /** Returns the cached document when the database does not respond in time. The read continues for later requests. */
  #unlessSilent(current: Promise<CachedDocument>, held: CachedDocument): Promise<CachedDocument> {
    return new Promise((resolve, reject) => {
      let isSilent = false
      const timer = setTimeout(() => {
        isSilent = true
        this.#silentReads += 1
        resolve(held)
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
    const held = this.#held.get(name)
    const now = parts.clock.now()
    try {
      await requireCurrentDatabase(parts)
      const versions = await parts.versions.read()
      const stamp = versions.versions.get(head) ?? -1
      if (held?.stamp === stamp && source.isDue?.(held, versions, now) !== true) return held.document
      const fresh = await this.#load(name, source)
      // Loaded after the version was read, so at least as new. A newer version makes the next request load again.
      this.#hold(place, { ...fresh, stamp })
      return fresh.document
    } catch (error) {
      // Published and still valid: serving it grants nothing beyond its signature (reliability 2).
      const isAway = error instanceof RolledBackError || translateDatabaseError(error) !== undefined
      if (isAway && held !== undefined && !isOver(held, now)) return held.document
      if (error instanceof Refusal && error.code.endsWith('_not_found')) this.#drop(name)
      if (!(error instanceof RolledBackError)) throw error
      throw new Refusal('service_unavailable', { reason: parts.rollback.reason }, { cause: error })
    }
  }

  /** The tag of a cached document. */
  heldTag(name: string): string | undefined {
    return this.#held.get(name)?.document.etag
  }

  /** Whether a document is cached and may be served while the database is unavailable. */
  holds(name: string, now: Instant): boolean {
    const held = this.#held.get(name)
    return held !== undefined && !isOver(held, now)
  }

  #hold({ name, isBounded }: DocumentPosition, held: Cached): void {
    if (isBounded === true) {
      const { length } = held.document.bytes
      this.#boundedBytes.delete(name)
      const used = [...this.#boundedBytes.values()].reduce((sum, bytes) => sum + bytes, 0)
      if (used + length > this.#maxBoundedBytes) return this.#drop(name)
      this.#boundedBytes.set(name, length)
    }
    this.#held.set(name, held)
  }

  #drop(name: string): void {
    this.#boundedBytes.delete(name)
    this.#held.delete(name)
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

/** The database is rolled back: nothing it contains may be published again. */
class RolledBackError extends Error {
  override readonly name = 'RolledBackError'
}

/** After a lost connection another server with older data may respond. It is compared before it is used. */
async function requireCurrentDatabase({ rollback }: Pick<Core, 'rollback'>): Promise<void> {
  while (rollback.needsRecheck) await rollback.settle()
  if (rollback.isHalted()) throw new RolledBackError('the database is rolled back')
}

function isOver(held: Cached, now: Instant): boolean {
  return held.validUntil !== undefined && now >= held.validUntil
}
