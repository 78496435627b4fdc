import { type Instant, writeSortable } from '@chancery/protocol'
import { WRONG_SETTINGS } from '@chancery/service-kit'
import { UnknownOutcomeError } from './errors.ts'
import type { Database, Reader, Transaction } from './database.ts'
import { lockMigrations } from './locks/migration.ts'
import type { ColumnTypes, Migration } from './migration.ts'
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
import { publishedAttestations } from './migrations/0012-published-attestations.ts'
import { oldLists } from './migrations/0013-old-lists.ts'
import { offerMakers } from './migrations/0014-offer-makers.ts'
import { liveKeys } from './migrations/0015-live-keys.ts'
import { liveFeeds } from './migrations/0016-live-feeds.ts'
import { rejectionCounts } from './migrations/0017-rejection-counts.ts'
import { announcedKeys } from './migrations/0018-announced-keys.ts'
import { importedParts } from './migrations/0019-imported-parts.ts'
import { duplicateCounts } from './migrations/0020-duplicate-counts.ts'
import { revokedTreaties } from './migrations/0021-revoked-treaties.ts'
import { moments } from './migrations/0022-moments.ts'
import { inviteMakers } from './migrations/0023-invite-makers.ts'
import { listHeads } from './migrations/0024-list-heads.ts'
import { servingReleases } from './migrations/0025-serving-releases.ts'
import { issuedCounts } from './migrations/0026-issued-counts.ts'
import { partners } from './migrations/0027-partners.ts'
import { nodeLabels } from './migrations/0028-node-labels.ts'
import { decisionMinutes } from './migrations/0029-decision-minutes.ts'
import { newestImports } from './migrations/0030-newest-imports.ts'
import { auditSubjects } from './migrations/0031-audit-subjects.ts'
import { decisionFacts } from './migrations/0032-decision-facts.ts'
import { revokedPublicKeys } from './migrations/0033-revoked-public-keys.ts'
import { newestRejections } from './migrations/0034-newest-rejections.ts'
import { treatyLists } from './migrations/0035-treaty-lists.ts'
import { silentNodes } from './migrations/0036-silent-nodes.ts'
import { capabilityLists } from './migrations/0037-capability-lists.ts'
import { policyTexts } from './migrations/0038-policy-texts.ts'
import { lostHistory } from './migrations/0039-lost-history.ts'
import { admission } from './migrations/0040-admission.ts'
import { logWitnesses } from './migrations/0041-log-witnesses.ts'
import { removedRules } from './migrations/0042-removed-rules.ts'
import { listChanges } from './migrations/0043-list-changes.ts'
import { liveness } from './migrations/0044-liveness.ts'
import { tableRows } from './migrations/0045-table-rows.ts'
import { listSegments } from './migrations/0046-list-segments.ts'
import { evidencePartitions } from './migrations/0047-evidence-partitions.ts'
import { auditPartitions } from './migrations/0048-audit-partitions.ts'
import { callerBytes } from './migrations/0049-caller-bytes.ts'
import { licensees } from './migrations/0050-licensees.ts'
import { liveSwitch } from './migrations/0051-live-switch.ts'
import { presented } from './migrations/0052-presented.ts'
import { UnfinishedCopyError, isCopyUnfinished } from './copy/unfinished-copy.ts'

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
  publishedAttestations,
  oldLists,
  offerMakers,
  liveKeys,
  liveFeeds,
  rejectionCounts,
  announcedKeys,
  importedParts,
  duplicateCounts,
  revokedTreaties,
  moments,
  inviteMakers,
  listHeads,
  servingReleases,
  issuedCounts,
  partners,
  nodeLabels,
  decisionMinutes,
  newestImports,
  auditSubjects,
  decisionFacts,
  revokedPublicKeys,
  newestRejections,
  treatyLists,
  silentNodes,
  capabilityLists,
  policyTexts,
  lostHistory,
  admission,
  logWitnesses,
  removedRules,
  listChanges,
  liveness,
  tableRows,
  listSegments,
  evidencePartitions,
  auditPartitions,
  callerBytes,
  licensees,
  liveSwitch,
  presented,
]

export const EXPECTED_SCHEMA_VERSION: number = MIGRATIONS.length

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

/** A migration failed and was undone. Running instances are not touched by it; this process does not start. */
export class MigrationFailedError extends Error {
  override readonly name = 'MigrationFailedError'
  constructor(version: number, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(
      `the migration to schema version ${version} failed and was undone, the database is still at version ${version - 1}: ${why}; running instances go on serving: see docs/operate/upgrade.md#when-a-migration-fails`,
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
    throw new MigrationFailedError(progress.applying, error)
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
    .execute()
  const current = await readSchemaVersion(tx.query)
  if (current > EXPECTED_SCHEMA_VERSION) throw new NewerSchemaError(current)
  progress.first ??= current
  progress.last = current
  const next = MIGRATIONS.find((migration) => migration.version === current + 1)
  if (next === undefined || next.version > upTo) return true
  progress.applying = next.version
  await next.up(tx.query, TYPES[database.engine])
  await tx.query
    .insertInto('schema_version')
    .values({ version: next.version, applied_at: writeSortable(now()), ...servesFromOf(next) })
    .execute()
  return false
}

/** Earlier migrations wrote no such column: it was not there. */
function servesFromOf({ version, servesFrom = version }: Migration): { serves_from?: number } {
  return version < servingReleases.version ? {} : { serves_from: servesFrom }
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
