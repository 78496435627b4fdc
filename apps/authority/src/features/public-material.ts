import { Refusal } from '@chancery/contract'
import type { Instant } from '@chancery/protocol'
import { Coalesced } from '@chancery/service-kit'
import type { KeptDocument } from '@chancery/service-kit'
import type { Office } from '../office.ts'
import type { Stamps } from '../store/database.ts'
import type { HeadName } from '../store/heads.ts'
import { translateStoreError } from '../store/open.ts'

/** A signed document ready to be served. */
export interface ReadyDocument {
  readonly document: KeptDocument
  /** The end of the signed validity, until which it may be served while the database is away. */
  readonly goodUntil?: Instant
  /** When its issuer signs the next one: in any case, and with something that waits to be named. */
  readonly times?: { readonly refreshAt: Instant; readonly gatherAt: Instant }
}

export interface DocumentSource {
  /** Brings the stored record up to date where that is its habit, and reads it. */
  load(): Promise<ReadyDocument>
  /** True when the held document should be renewed although its stamp did not change. */
  isDue?(held: ReadyDocument, stamps: Stamps, now: Instant): boolean
}

interface Load {
  source: DocumentSource
  readonly load: Coalesced<ReadyDocument>
}

/** What documents that are asked for by a number may take in memory together: there can be hundreds of them. */
const BOUNDED_BYTES = 64 * 1024 * 1024

/** A database that is silent for so long is away for the readers of a document in memory. */
const SILENCE_MS = 3000

export interface DocumentPlace {
  /** Tells two documents of one head apart. */
  readonly name: string
  /** Held only while there is room for all bounded documents; those that came first stay. */
  readonly isBounded?: true
}

interface Held extends ReadyDocument {
  readonly stamp: number
}

/**
 * Signed public documents kept as bytes. Each request learns the version stamp (one statement for all that wait), and
 * only a changed stamp reads the record again; so a revocation on one instance is served by all from the next request
 * on, and a million readers cost next to nothing.
 */
export class PublicMaterial {
  readonly #held = new Map<string, Held>()
  readonly #loads = new Map<string, Load>()
  readonly #boundedBytes = new Map<string, number>()
  readonly #maxBoundedBytes: number
  readonly #silenceMs: number

  constructor(maxBoundedBytes = BOUNDED_BYTES, silenceMs = SILENCE_MS) {
    this.#maxBoundedBytes = maxBoundedBytes
    this.#silenceMs = silenceMs
  }

  serve(
    office: Office,
    head: HeadName,
    source: DocumentSource,
    place: DocumentPlace = { name: head },
  ): Promise<KeptDocument> {
    const held = this.#held.get(place.name)
    const current = this.#serveCurrent(office, head, source, place)
    if (held === undefined || isOver(held, office.clock.now())) return current
    return this.#unlessSilent(current, held.document)
  }

  /** The document in memory when the database has not answered in time; the read goes on for those who come later. */
  #unlessSilent(current: Promise<KeptDocument>, held: KeptDocument): Promise<KeptDocument> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => resolve(held), this.#silenceMs)
      current.then(resolve, reject).finally(() => clearTimeout(timer))
    })
  }

  async #serveCurrent(
    office: Office,
    head: HeadName,
    source: DocumentSource,
    place: DocumentPlace,
  ): Promise<KeptDocument> {
    const { name } = place
    const held = this.#held.get(name)
    const now = office.clock.now()
    try {
      await requireSettled(office)
      const stamps = await office.stamps.read()
      const stamp = stamps.versions.get(head) ?? -1
      if (held?.stamp === stamp && source.isDue?.(held, stamps, now) !== true) return held.document
      const fresh = await this.#load(name, source)
      // Loaded after the stamp was read, so at least as new; a newer stamp will make the next request load again.
      this.#hold(place, { ...fresh, stamp })
      return fresh.document
    } catch (error) {
      // Published and still valid: serving it grants nothing that its signature does not say (reliability 2).
      const isAway = error instanceof BehindItsPast || translateStoreError(error) !== undefined
      if (isAway && held !== undefined && !isOver(held, now)) return held.document
      if (error instanceof Refusal && error.code.endsWith('_not_found')) this.#drop(name)
      if (!(error instanceof BehindItsPast)) throw error
      throw new Refusal('service_unavailable', { reason: office.rollbackWatch.reason }, { cause: error })
    }
  }

  /** The tag of a document in memory. */
  heldTag(name: string): string | undefined {
    return this.#held.get(name)?.document.etag
  }

  /** Whether a document is in memory and may be served while the database is away. */
  holds(name: string, now: Instant): boolean {
    const held = this.#held.get(name)
    return held !== undefined && !isOver(held, now)
  }

  #hold({ name, isBounded }: DocumentPlace, held: Held): void {
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

  /** Readers who wait for the same record share one load, which started after each of them asked. */
  #load(name: string, source: DocumentSource): Promise<ReadyDocument> {
    const entry: Load = this.#loads.get(name) ?? { source, load: new Coalesced(() => entry.source.load()) }
    entry.source = source
    this.#loads.set(name, entry)
    return entry.load.read()
  }
}

/** The database lies behind what was published: nothing it says may be published again. */
class BehindItsPast extends Error {
  override readonly name = 'BehindItsPast'
}

/** After a lost connection another server may answer, with an older past: compared before it is believed. */
async function requireSettled({ rollbackWatch }: Office): Promise<void> {
  while (rollbackWatch.isSuspect) await rollbackWatch.settle()
  if (rollbackWatch.isHalted()) throw new BehindItsPast('the database is behind what was already published')
}

function isOver(held: Held, now: Instant): boolean {
  return held.goodUntil !== undefined && now >= held.goodUntil
}
