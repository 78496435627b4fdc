import type { Clock, Log } from '@chancery/service-kit'
import { type Database, type Reader, type Transaction, storeTime } from '../database/database.ts'

const WRITTEN = 'high-water-written'
const ASKED = 'high-water-asked'

/** What the database knows of its marks: when an instance last had one, and when one without asked for that. */
export interface MarkRecord {
  readonly written: string | undefined
  readonly asked: string | undefined
}

export async function readMarkRecord(db: Reader): Promise<MarkRecord> {
  const rows = await db.selectFrom('moments').selectAll().where('name', 'in', [WRITTEN, ASKED]).execute()
  const find = (name: string): string | undefined => rows.find((row) => row.name === name)?.at
  return { written: find(WRITTEN), asked: find(ASKED) }
}

/** The database counts as one that never had a mark: after a recovery, and in a copy that was compared with the marks. */
export async function forgetMarks(tx: Transaction): Promise<void> {
  await tx.query.deleteFrom('moments').where('name', 'in', [WRITTEN, ASKED]).execute()
}

/**
 * Whether this process can detect a rollback. Without a mark it cannot, unless no mark was ever written. A database that
 * has recorded a mark may then be an old backup, so it is not served: a check that lost its memory is closed.
 *
 * An instance on a new host has no mark, too. It asks the others: one that runs has compared this database with what it
 * knows, and records that again.
 */
export class MarkMemory {
  readonly #parts: { readonly database: Database; readonly clock: Clock; readonly log: Log }
  /** What was recorded when this process began to read this database. */
  #first: { readonly written: string | undefined } | undefined
  #remembers = false
  #isMissing = false
  #hasAsked = false
  #answered: string | undefined

  constructor(parts: { readonly database: Database; readonly clock: Clock; readonly log: Log }) {
    this.#parts = parts
  }

  get isMissing(): boolean {
    return this.#isMissing
  }

  read(): Promise<MarkRecord> {
    return readMarkRecord(this.#parts.database.read)
  }

  /** After a lost connection another server may answer, with an older record. */
  forgetFirst(): void {
    this.#first = undefined
  }

  /** Called with each comparison. `record` was read before the files. */
  see({ written }: MarkRecord, hasMark: boolean): void {
    this.#first ??= { written }
    this.#remembers ||= hasMark || written === undefined || written !== this.#first.written
    const { log } = this.#parts
    if (!this.#remembers && !this.#isMissing)
      log.error('mark_missing: the database has recorded a high-water mark, and no file has one', {
        alarm: true,
        recorded: written,
        advice: 'put the mark back, or run chancery authority recover',
      })
    if (this.#remembers && this.#isMissing) log.info('the high-water mark is known again')
    this.#isMissing = !this.#remembers
  }

  /** Records that this instance has a mark of this database. */
  async record(): Promise<void> {
    const { asked } = await this.read()
    await this.#store(WRITTEN)
    this.#answered = asked
  }

  /** Records it again when another instance has asked since. An instance without files does so, too: it has compared. */
  async answer(): Promise<void> {
    const { asked, written } = await this.read()
    if (asked === this.#answered || written === undefined) return
    await this.#store(WRITTEN)
    this.#answered = asked
  }

  /** Once: others answer within seconds, or there is none. */
  async ask(): Promise<void> {
    if (this.#hasAsked) return
    await this.#store(ASKED)
    this.#hasAsked = true
  }

  #store(name: string): Promise<void> {
    const { database, clock } = this.#parts
    return database.write((tx) => storeTime(tx, name, clock.now()))
  }
}
