import { type StoredTreaty, readInstant, writeSortable } from '@chancery/protocol'
import { BatchedRead } from '../../database/batched-read.ts'
import type { RecognitionTreatiesParts } from './parts.ts'
import { type TreatyRow, findTreaty, listNewestFor, listUnended } from './queries.ts'

/** More than a decision reads, because rows that do not verify are left out. */
const MAX_UNENDED = 80
/** To explain why no treaty is in force. */
const MAX_ENDED = 8

/** Reads own treaties for decisions. Decisions that wait for the database share the next statement. */
export class TreatiesWith {
  readonly #parts: RecognitionTreatiesParts
  readonly #unended: BatchedRead<TreatyRow>

  constructor(parts: RecognitionTreatiesParts) {
    this.#parts = parts
    this.#unended = new BatchedRead(
      (subjects) => {
        const now = writeSortable(parts.clock.now())
        return listUnended(parts.database, { own: parts.network.name, subjects, now, limit: MAX_UNENDED })
      },
      (row) => row.subject_sovereign_id,
    )
  }

  /**
   * Returns the own treaties with a sovereign, newest first, each with a verified text: those that may be in force, or
   * the newest ones when none is. With an id, only that treaty.
   */
  async find(subject: string, treaty_id: string | undefined): Promise<readonly StoredTreaty[]> {
    const { clock, database, network } = this.#parts
    const own = network.name
    if (treaty_id !== undefined) {
      const row = await findTreaty(database, treaty_id)
      const isOurs = row?.issuer_sovereign_id === own && row.subject_sovereign_id === subject
      return isOurs ? this.#readAll([row]) : []
    }
    const unended = await this.#unended.list(subject)
    const now = clock.now()
    const hasBegun = unended.some(({ valid_from }) => (readInstant(valid_from) ?? now) <= now)
    if (hasBegun) return this.#readAll(unended)
    const newest = await listNewestFor(database, own, subject, MAX_ENDED)
    const newestIds = new Set(newest.map((row) => row.treaty_id))
    // A treaty that begins within the clock tolerance is older than a revoked one, or among the newest.
    return this.#readAll([...newest, ...unended.filter((row) => !newestIds.has(row.treaty_id))])
  }

  close(): Promise<void> {
    return this.#unended.close()
  }

  async #readAll(rows: readonly TreatyRow[]): Promise<readonly StoredTreaty[]> {
    const found: StoredTreaty[] = []
    for (const row of rows) {
      const treaty = await this.#parts.verifiedTreaties.read(row)
      if (treaty !== undefined) found.push({ treaty, isActive: row.status === 'active' })
    }
    return found
  }
}
