import { mkdirSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type LogCheckpoint, sameBytes } from '@chancery/protocol'
import { CommandError } from '../../errors/failure.ts'
import { errorCode, toFailure } from '../../files/files.ts'

/** The last checkpoint of a log that this witness cosigned. */
export interface StoredHead extends LogCheckpoint {
  readonly note: string
}

/** The file inside the folder of a witness. */
const FILE = 'witness.sqlite'
/** Contradicting checkpoints that are stored for one log. Each needs a signature of the log. */
const MAX_CONTRADICTIONS = 100

/**
 * Checkpoints of a witness, in one SQLite file. A change is on disk before it returns, and compares the former state in
 * the same transaction, so that neither a crash nor two requests or processes can lead to two histories.
 */
export class WitnessStore {
  readonly #db: DatabaseSync

  /** `isNew` creates the file. Otherwise it must exist: an empty state would cosign any history. */
  static async open(folder: string, isNew: boolean): Promise<WitnessStore> {
    const path = join(folder, FILE)
    const found = await stat(path).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return undefined
      throw toFailure(error, path, 'read')
    })
    if (found === undefined && !isNew)
      throw new CommandError({
        code: 'no_state',
        message: `${folder} has no state of a witness.`,
        hint: 'Check the path. Only for a new witness with a new key, add --init.',
      })
    if (found !== undefined && isNew)
      throw new CommandError({
        code: 'file_exists',
        message: `${folder} has the state of a witness already.`,
        hint: 'Start without --init.',
      })
    if (isNew) mkdirSync(folder, { recursive: true, mode: 0o700 })
    return new WitnessStore(path)
  }

  constructor(path: string) {
    this.#db = new DatabaseSync(path)
    this.#db.exec(`pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = 5000;
      create table if not exists heads (
        origin text not null primary key, size integer not null, root blob not null, note text not null);
      create table if not exists contradictions (
        origin text not null, size integer not null, root blob not null, note text not null, seen_at integer not null,
        primary key (origin, size, root))`)
  }

  last(origin: string): StoredHead | undefined {
    const row = this.#db.prepare('select size, root, note from heads where origin = ?').get(origin)
    if (row === undefined) return undefined
    return { origin, size: Number(row['size']), root: row['root'] as Uint8Array, note: String(row['note']) }
  }

  /** Replaces `before` by `next`, on disk. False when another request stored another checkpoint meanwhile. */
  advance(before: LogCheckpoint | undefined, { origin, size, root, note }: StoredHead): boolean {
    this.#db.exec('begin immediate')
    try {
      const now = this.last(origin)
      const isSame =
        before === undefined || now === undefined
          ? before === now
          : before.size === now.size && sameBytes(before.root, now.root)
      if (isSame)
        this.#db
          .prepare(
            `insert into heads (origin, size, root, note) values (?, ?, ?, ?)
              on conflict (origin) do update set size = excluded.size, root = excluded.root, note = excluded.note`,
          )
          .run(origin, size, root, note)
      this.#db.exec('commit')
      return isSame
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('rollback')
      throw error
    }
  }

  /** Stores a checkpoint of the log that contradicts a cosigned one, as evidence. True the first time. */
  addContradiction({ origin, size, root, note }: StoredHead, unixSeconds: number): boolean {
    const { changes } = this.#db
      .prepare(
        `insert or ignore into contradictions (origin, size, root, note, seen_at) select ?, ?, ?, ?, ?
          where (select count(*) from contradictions where origin = ?) < ?`,
      )
      .run(origin, size, root, note, unixSeconds, origin, MAX_CONTRADICTIONS)
    return Number(changes) > 0
  }

  /** Contradicting checkpoints of a log, as they were signed. */
  contradictions(origin: string): readonly string[] {
    const rows = this.#db.prepare('select note from contradictions where origin = ? order by seen_at').all(origin)
    return rows.map((row) => String(row['note']))
  }

  close(): void {
    this.#db.close()
  }
}
