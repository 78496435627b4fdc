import { type Instant, seconds, writeSortable } from '@chancery/protocol'
import { WRONG_SETTINGS } from '@chancery/service-kit'
import { UnknownOutcomeError } from './errors.ts'
import type { ColumnTypes, Database, Migration, Reader, Transaction } from './database.ts'
import { lockMigrations } from './locks/migration.ts'
import { baseline } from './migrations/0048-baseline.ts'
import { callerBytes } from './migrations/0049-caller-bytes.ts'
import { licensees } from './migrations/0050-licensees.ts'
import { liveSwitch } from './migrations/0051-live-switch.ts'
import { presented } from './migrations/0052-presented.ts'
import { budgets } from './migrations/0053-budgets.ts'
import { approvals } from './migrations/0054-approvals.ts'
import { UnfinishedCopyError, isCopyUnfinished } from './copy/unfinished-copy.ts'
import { type DatabaseLocation, openDatabase } from './open.ts'
import { LIMITS } from '@chancery/contract'
import { sql } from 'kysely'

/** The schema of release 0.2.0, and what came after it. Forward only; a released migration is never edited. */
const MIGRATIONS: readonly Migration[] = [baseline, callerBytes, licensees, liveSwitch, presented, budgets, approvals]

export const EXPECTED_SCHEMA_VERSION: number = baseline.version - 1 + MIGRATIONS.length

/** The database was migrated by a newer release: this one must not write to it. */
export class NewerSchemaError extends Error {
  override readonly name = 'NewerSchemaError'
  readonly exitCode: number = WRONG_SETTINGS
  constructor(found: number) {
    super(
      `the database has schema version ${found}, this release knows ${EXPECTED_SCHEMA_VERSION}: install the release that migrated it, or a newer one; to go back to this release, restore the backup that was made before the upgrade`,
    )
  }
}

/** The database was written last by a release that this one cannot continue. */
export class OldSchemaError extends Error {
  override readonly name = 'OldSchemaError'
  readonly exitCode: number = WRONG_SETTINGS
  constructor() {
    super('this database is of a release before 0.2.0: start 0.2.0 once, then this release')
  }
}

/** A migration failed and was undone. Running instances are not touched by it; this process does not start. */
export class MigrationFailedError extends Error {
  override readonly name = 'MigrationFailedError'
  constructor(version: number, found: number, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(
      `the migration to schema version ${version} failed and was undone, the database is still at version ${found}: ${why}; running instances go on serving: see docs/operate/upgrade.md#when-a-migration-fails`,
      { cause },
    )
  }
}

const TYPES: Readonly<Record<Database['engine'], ColumnTypes>> = {
  sqlite: { backend: 'sqlite', binary: 'blob', bigint: 'integer' },
  postgres: { backend: 'postgres', binary: 'bytea', bigint: 'bigint' },
}

export interface MigrateOptions {
  /** For the copy itself, which owns the marker. */
  readonly copying?: boolean
  /** Stops at the schema of an earlier release: what was copied from it goes in first, then the rest is applied. */
  readonly upTo?: number
}

/** Schema versions before and after. Equal when nothing was missing. */
export interface Migrated {
  readonly from: number
  readonly to: number
}

/** Applies what is missing, one transaction per migration, one instance at a time. */
export async function migrate(database: Database, now: () => Instant, options: MigrateOptions = {}): Promise<Migrated> {
  const progress: Progress = { applying: undefined, first: undefined, last: 0 }
  try {
    let isComplete = false
    while (!isComplete) isComplete = await database.write((tx) => applyNext(database, tx, now, options, progress))
    return { from: progress.first ?? progress.last, to: progress.last }
  } catch (error) {
    // Whether the last COMMIT was lost or not, the next start finds out.
    if (progress.applying === undefined || error instanceof UnknownOutcomeError) throw error
    throw new MigrationFailedError(progress.applying, progress.last, error)
  }
}

interface Progress {
  /** The version of the migration that runs now. */
  applying: number | undefined
  /** The version that was found first, and the one that was found last. */
  first: number | undefined
  last: number
}

/** Gives whether nothing is missing any more. */
async function applyNext(
  database: Database,
  tx: Transaction,
  now: () => Instant,
  { copying = false, upTo = EXPECTED_SCHEMA_VERSION }: MigrateOptions,
  progress: Progress,
): Promise<boolean> {
  progress.applying = undefined
  await lockMigrations(database, tx)
  if (!copying && (await isCopyUnfinished(database, tx.query))) throw new UnfinishedCopyError()
  await tx.query.schema
    .createTable('schema_version')
    .ifNotExists()
    .addColumn('version', 'integer', (c) => c.primaryKey())
    .addColumn('applied_at', 'text', (c) => c.notNull())
    .addColumn('serves_from', 'integer')
    .execute()
  const current = await readSchemaVersion(tx.query)
  if (current > EXPECTED_SCHEMA_VERSION) throw new NewerSchemaError(current)
  if (isOldSchema(current)) throw new OldSchemaError()
  progress.first ??= current
  progress.last = current
  const next = MIGRATIONS.find((migration) => migration.version > current)
  if (next === undefined || next.version > upTo) return true
  progress.applying = next.version
  await next.up(tx.query, TYPES[database.engine])
  await tx.query
    .insertInto('schema_version')
    .values({ version: next.version, applied_at: writeSortable(now()), serves_from: next.servesFrom ?? next.version })
    .execute()
  return false
}

/** True of a version that an earlier release wrote last, which this one cannot continue. 0 is a new database. */
export function isOldSchema(found: number): boolean {
  return found > 0 && found < baseline.version
}

export interface FoundSchema {
  readonly version: number
  /** A newer release has migrated the database meanwhile, and says that this one may go on until it is stopped. */
  readonly isNewerButServed: boolean
}

/** For a running instance, whose own migrations are all applied. Every newer migration must say it, not the last one. */
export async function readServedSchema(db: Reader): Promise<FoundSchema> {
  const newer = await db
    .selectFrom('schema_version')
    .select(['version', 'serves_from'])
    .where('version', '>', EXPECTED_SCHEMA_VERSION)
    .orderBy('version', 'desc')
    .execute()
  const [last] = newer
  if (last === undefined) return { version: await readSchemaVersion(db), isNewerButServed: false }
  const isServed = newer.every(
    ({ serves_from: from }) => Number(from ?? Number.POSITIVE_INFINITY) <= EXPECTED_SCHEMA_VERSION,
  )
  return { version: Number(last.version), isNewerButServed: isServed }
}

/** The highest applied version, 0 for a new database. */
export async function readSchemaVersion(db: Reader): Promise<number> {
  const row = await db
    .selectFrom('schema_version')
    .select((eb) => eb.fn.max('version').as('version'))
    .executeTakeFirst()
  return Number(row?.version ?? 0)
}

/** An empty database of this release that belongs to no authority yet. Tests copy one instead of migrating each time. */
export async function prepareDatabase(place: DatabaseLocation, now: () => Instant): Promise<void> {
  const database = openDatabase(place)
  try {
    await migrate(database, now)
  } finally {
    await database.close()
  }
}

/** A node may miss so many heartbeats less one before it counts as silent. */
const INTERVALS = 3

/** Seconds without a heartbeat after which a node is not active: protocol/core 19, longer for a slower interval. */
export function windowOf(paceSeconds: number): number {
  return Math.max(LIMITS.activeNodeWindowSeconds, INTERVALS * paceSeconds)
}

/** The slowest interval that an instance has asked for and that a node may still follow. */
export async function readSlowestPace(db: Reader, now: Instant): Promise<number> {
  const { rows } = await sql<{ readonly seconds: number | null }>`
    select max(seconds) as seconds from heartbeat_paces where until > ${writeSortable(now)}`.execute(db)
  return Number(rows[0]?.seconds ?? 0)
}

/** Stores an interval before nodes are asked for it. Each counts until a node that missed some heartbeats is silent. */
export async function storePace({ query }: Pick<Transaction, 'query'>, pace: number, now: Instant): Promise<void> {
  const until = writeSortable(now + seconds(2 * windowOf(pace)))
  await query.deleteFrom('heartbeat_paces').where('until', '<=', writeSortable(now)).execute()
  await query
    .insertInto('heartbeat_paces')
    .values({ seconds: pace, until })
    .onConflict((conflict) =>
      conflict.column('seconds').doUpdateSet({ until }).where('heartbeat_paces.until', '<', until),
    )
    .execute()
}

/** The active-node window of this process, which a job refreshes. */
export class ActiveWindow {
  readonly #paceSeconds: number
  #seconds: number

  /** The interval of the settings. */
  constructor(paceSeconds: number) {
    this.#paceSeconds = paceSeconds
    this.#seconds = windowOf(paceSeconds)
  }

  /** As of now, so that a process does not count nodes as silent that follow the interval of another one. */
  static async open(paceSeconds: number, db: Reader, now: Instant): Promise<ActiveWindow> {
    const window = new ActiveWindow(paceSeconds)
    await window.refresh(db, now)
    return window
  }

  get seconds(): number {
    return this.#seconds
  }

  async refresh(db: Reader, now: Instant): Promise<void> {
    this.#seconds = windowOf(Math.max(this.#paceSeconds, await readSlowestPace(db, now)))
  }
}
