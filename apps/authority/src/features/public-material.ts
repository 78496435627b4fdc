import type { Instant } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Office } from '../office.ts'
import { translateStoreError } from '../store/open.ts'
import type { HeadName } from '../store/heads.ts'

/** A signed document ready to be served, and how long it may be served when the database is away. */
export interface ReadyDocument {
  readonly document: KeptDocument
  /** The end of the signed validity; undefined when the record has none. */
  readonly goodUntil: Instant | undefined
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
  readonly #held = new Map<HeadName, Held>()

  async serve(office: Office, head: HeadName, load: () => Promise<ReadyDocument>): Promise<KeptDocument> {
    const held = this.#held.get(head)
    const now = office.clock.now()
    try {
      const stamp = (await office.stamps.read()).get(head) ?? -1
      if (held?.stamp === stamp && !isOver(held, now)) return held.document
      const fresh = await load()
      // Loaded after the stamp was read, so at least as new; a newer stamp will make the next request load again.
      this.#held.set(head, { ...fresh, stamp })
      return fresh.document
    } catch (error) {
      // Published and still valid: serving it grants nothing that its signature does not say (reliability 2).
      if (held !== undefined && translateStoreError(error) !== undefined && !isOver(held, now)) return held.document
      throw error
    }
  }
}

function isOver(held: Held, now: Instant): boolean {
  return held.goodUntil !== undefined && now >= held.goodUntil
}
