import { type Instant, writeSortable } from '@chancery/protocol'
import type { Clock, Ids } from '@chancery/service-kit'
import type { HighWater } from '../rollback/mark-file.ts'
import {
  TargetInUseError,
  TargetOccupiedError,
  UnfinishedCopyError,
  beginCopy,
  finishCopy,
  listTables,
} from '../database/copy/unfinished-copy.ts'
import { type CopiedTable, compareRows, copyRows, describeTables } from '../database/copy/copy-rows.ts'
import type { Database, Reader, Transaction } from '../database/database.ts'
import { forgetMarks, readMarkRecord } from '../rollback/mark-memory.ts'
import { findRollbacks } from '../rollback/positions.ts'
import { EXPECTED_SCHEMA_VERSION, migrate, readSchemaVersion } from '../database/migrate.ts'
import type { Inspection } from './inspect.ts'
import type { InspectedAuthority } from './manifest.ts'

export type CopyRefusal =
  | 'source_unfit'
  | 'source_behind_mark'
  | 'target_not_empty'
  | 'instances_running'
  | 'copy_unfinished'
  | 'copy_differs'
  | 'records_invalid'
  | 'mark_missing'
  | 'no_throwaway'

/** The copy was not made, or must not be used. `code` is for programs. */
export class CopyError extends Error {
  override readonly name = 'CopyError'
  readonly code: CopyRefusal
  readonly problems: readonly string[]

  constructor(code: CopyRefusal, message: string, problems: readonly string[] = []) {
    super(message)
    this.code = code
    this.problems = problems
  }
}

export interface CopyProgress {
  readonly step: 'copying' | 'comparing' | 'verifying'
  readonly table: string
  readonly done: number
  readonly total: number
}

/** An empty PostgreSQL database. */
export interface CopyParts {
  /** An SQLite file that no other process uses, so that it does not change during the copy. */
  readonly source: Database
  readonly target: Database
  /** Removes the rest of an interrupted copy. */
  readonly restart: boolean
  readonly clock: Clock
  readonly ids: Ids
  readonly inspect: (db: Reader) => Promise<Inspection>
  readonly onProgress: (progress: CopyProgress) => void
}

export interface CopyFacts extends CopyParts {
  readonly authority: InspectedAuthority
  /** All marks: a source that is rolled back is an old backup. */
  readonly marks: readonly HighWater[]
}

export interface Copied {
  /** Rows of each table. */
  readonly tables: Readonly<Record<string, number>>
  /** Number of verified records in the copy, by kind. */
  readonly records: Inspection['counts']
}

/** Copies an SQLite authority of this release into an empty PostgreSQL database. */
export async function copyDatabase(facts: CopyFacts): Promise<Copied> {
  await checkSource(facts)
  // The source was compared with its marks. The copy may have other ones, or none: that is for its settings to say.
  return copyInto(facts, EXPECTED_SCHEMA_VERSION, forgetMarks)
}

/**
 * Copies an SQLite file into an empty PostgreSQL database, reads every row back, applies what its schema lacks, and
 * verifies every record there. A marker locks the target during the whole copy, so that an interrupted copy is never
 * used. `lastly` changes the verified copy before the marker is removed.
 */
export async function copyInto(
  parts: CopyParts,
  schemaVersion: number,
  lastly: (tx: Transaction) => Promise<void> = () => Promise.resolve(),
): Promise<Copied> {
  const { source, target, clock } = parts
  const token = parts.ids.hex(32)
  const now = (): Instant => clock.now()
  await claimTarget(parts, token)
  await migrate(target, now, { copying: true, upTo: schemaVersion })
  const tables = await describeTables(source, target)
  await eachTable('copying', tables, parts, (table, onRows) => copyRows(source, target, table, onRows))
  const differences: string[] = []
  await eachTable('comparing', tables, parts, async (table, onRows) => {
    differences.push(...(await compareRows(source, target.read, table, onRows)))
  })
  if (differences.length > 0) throw new CopyError('copy_differs', 'the copy differs from the source', differences)
  await migrate(target, now, { copying: true })
  const records = await verifyCopy(target.read, parts)
  await target.write(lastly)
  await finishCopy(target, token)
  return { tables: Object.fromEntries(tables.map(({ name, rows }) => [name, rows])), records }
}

/** Verifies every record of the copy. A record that does not verify was already invalid in the source. */
export async function verifyCopy(
  db: Reader,
  { inspect, onProgress }: Pick<CopyParts, 'inspect' | 'onProgress'>,
): Promise<Inspection['counts']> {
  onProgress({ step: 'verifying', table: '', done: 0, total: 0 })
  const { counts, problems } = await inspect(db)
  if (problems.length > 0)
    throw new CopyError('records_invalid', 'the source holds records that do not verify', problems)
  return counts
}

async function checkSource({ source, authority, marks }: CopyFacts): Promise<void> {
  const db = source.read
  const tables = await listTables(source)
  const version = tables.includes('schema_version') ? await readSchemaVersion(db) : 0
  if (version !== EXPECTED_SCHEMA_VERSION)
    throw new CopyError(
      'source_unfit',
      `the source has schema version ${version}, this release copies ${EXPECTED_SCHEMA_VERSION}: start this release on it once`,
    )
  const identity = await db.selectFrom('authority_identity').selectAll().executeTakeFirst()
  if (identity?.network_name !== authority.sovereign || identity.public_key !== authority.publicKeys[0])
    throw new CopyError('source_unfit', 'the source belongs to another network or another authority key')
  const missing = await findRollbacks(db, marks)
  // A rolled back source lacks revocations. In the new database this could not be detected.
  if (missing.length > 0)
    throw new CopyError(
      'source_behind_mark',
      `the source is older than what was published (${missing.join(', ')}): recover it first`,
    )
  if (marks.length === 0 && (await readMarkRecord(db)).written !== undefined)
    throw new CopyError(
      'mark_missing',
      'the source has recorded a high-water mark, and none was found: put it back next to the source, or recover it first',
    )
}

async function claimTarget({ source, target, restart, clock }: CopyParts, token: string): Promise<void> {
  const tables = await listTables(source)
  try {
    await beginCopy(target, { token, startedAt: writeSortable(clock.now()), tables }, restart)
  } catch (error) {
    if (error instanceof UnfinishedCopyError)
      throw new CopyError('copy_unfinished', 'an earlier copy into this database was not finished')
    if (error instanceof TargetInUseError)
      throw new CopyError('instances_running', 'instances are connected to the database to copy into')
    if (error instanceof TargetOccupiedError)
      throw new CopyError('target_not_empty', `the database to copy into is not empty: ${error.message}`)
    throw error
  }
}

export async function eachTable(
  step: CopyProgress['step'],
  tables: readonly CopiedTable[],
  { onProgress }: Pick<CopyParts, 'onProgress'>,
  work: (table: CopiedTable, onRows: (count: number) => void) => Promise<void>,
): Promise<void> {
  for (const table of tables) {
    let done = 0
    await work(table, (count) => {
      done += count
      onProgress({ step, table: table.name, done, total: table.rows })
    })
  }
}
