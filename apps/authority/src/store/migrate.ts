import type { ColumnDataType } from 'kysely'
import { writeSortable } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import type { Store, Tx } from './database.ts'
import { lockMigrations } from './migration-lock.ts'
import { foundation } from './migrations/0001-foundation.ts'
import { agents } from './migrations/0002-agents.ts'
import { sovereignTrust } from './migrations/0003-sovereign-trust.ts'
import { boundaryPolicies } from './migrations/0004-boundary-policies.ts'
import { dataUsage } from './migrations/0005-data-usage.ts'
import { evidence } from './migrations/0006-evidence.ts'
import { instances } from './migrations/0007-instances.ts'
import { activity } from './migrations/0008-activity.ts'
import { recoveredRevocations } from './migrations/0009-recovered-revocations.ts'
import { auditNumbers } from './migrations/0010-audit-numbers.ts'
import { keySuccession } from './migrations/0011-key-succession.ts'
import { UnfinishedCopy, isCopyUnfinished } from './unfinished-copy.ts'

/** Column types the engines spell differently. */
export interface ColumnTypes {
  readonly backend: Store['backend']
  readonly binary: ColumnDataType
  readonly bigint: ColumnDataType
}

export interface Migration {
  readonly version: number
  up(tx: Tx, types: ColumnTypes): Promise<void>
}

/** Forward only; a released migration is never edited. */
const MIGRATIONS: readonly Migration[] = [
  foundation,
  agents,
  sovereignTrust,
  boundaryPolicies,
  dataUsage,
  evidence,
  instances,
  activity,
  recoveredRevocations,
  auditNumbers,
  keySuccession,
]

export const EXPECTED_SCHEMA_VERSION: number = MIGRATIONS.length

/** The database was migrated by a newer release: this one must not write to it. */
export class NewerSchema extends Error {
  override readonly name = 'NewerSchema'
  constructor(found: number) {
    super(
      `the database has schema version ${found}, this release knows ${EXPECTED_SCHEMA_VERSION}: start the newer release`,
    )
  }
}

const TYPES: Readonly<Record<Store['backend'], ColumnTypes>> = {
  sqlite: { backend: 'sqlite', binary: 'blob', bigint: 'integer' },
  postgres: { backend: 'postgres', binary: 'bytea', bigint: 'bigint' },
}

export interface MigrateOptions {
  /** For a copy itself, which nobody else gets past. */
  readonly copying?: boolean
  /** Stops at the schema of an earlier release: what was copied from it goes in first, then the rest is applied. */
  readonly upTo?: number
}

/** Applies what is missing, one transaction per migration, one instance at a time. */
export async function migrate(
  store: Store,
  now: () => Instant,
  { copying = false, upTo = EXPECTED_SCHEMA_VERSION }: MigrateOptions = {},
): Promise<void> {
  for (;;) {
    const finished = await store.transact(async (tx) => {
      await lockMigrations(store, tx)
      if (!copying && (await isCopyUnfinished(store, tx))) throw new UnfinishedCopy()
      await tx.schema
        .createTable('schema_version')
        .ifNotExists()
        .addColumn('version', 'integer', (c) => c.primaryKey())
        .addColumn('applied_at', 'text', (c) => c.notNull())
        .execute()
      const current = await readSchemaVersion(tx)
      if (current > EXPECTED_SCHEMA_VERSION) throw new NewerSchema(current)
      const next = MIGRATIONS.find((migration) => migration.version === current + 1)
      if (next === undefined || next.version > upTo) return true
      await next.up(tx, TYPES[store.backend])
      await tx
        .insertInto('schema_version')
        .values({ version: next.version, applied_at: writeSortable(now()) })
        .execute()
      return false
    })
    if (finished) return
  }
}

/** The highest applied version, 0 for a new database. */
export async function readSchemaVersion(db: Tx): Promise<number> {
  const row = await db
    .selectFrom('schema_version')
    .select((eb) => eb.fn.max('version').as('version'))
    .executeTakeFirst()
  return Number(row?.version ?? 0)
}
