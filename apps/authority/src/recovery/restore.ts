import { copyFile, link, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Clock, Ids } from '@chancery/service-kit'
import type { HighWater } from '../rollback/mark-file.ts'
import { numberCopiedEvents } from '../audit/sequence.ts'
import type { Database, Reader, Transaction } from '../database/database.ts'
import { findRollbacks } from '../rollback/positions.ts'
import { EXPECTED_SCHEMA_VERSION, NewerSchemaError, OldSchemaError, isOldSchema, migrate } from '../database/migrate.ts'
import { type DatabaseLocation, openDatabase } from '../database/open.ts'
import { syncFile } from '../database/copy/snapshot.ts'
import { openSqlite, openSqliteReadOnly } from '../database/sqlite/open.ts'
import { type Copied, CopyError, type CopyProgress, copyInto, verifyCopy } from './copy-database.ts'
import { endRules } from '../features/admission/index.ts'
import type { Inspection } from './inspect.ts'
import { type BackupManifest, DATABASE_PART } from './manifest.ts'
import { type Instant, writeSortable } from '@chancery/protocol'

/**
 * Ends every invite that is unused in this database. Some of them may have been used after the backup, and the
 * high-water mark does not count certificates: an invite for one node must not admit a second one.
 */
export async function endInvites(tx: Transaction, now: Instant): Promise<void> {
  const expires_at = writeSortable(now)
  await tx.query
    .updateTable('invite_tokens')
    .set({ expires_at })
    .where('used_at', 'is', null)
    .where('expires_at', '>', expires_at)
    .execute()
}

export interface RestoreFacts {
  readonly folder: string
  /** Verified, with the digest of every part: {@link openBackup}. */
  readonly manifest: BackupManifest
  /** An empty location. */
  readonly place: DatabaseLocation
  /** All marks, which show what the backup lacks. */
  readonly marks: readonly HighWater[]
  /** Removes the rest of an interrupted restore in PostgreSQL. For an SQLite file this happens without the option. */
  readonly restart: boolean
  readonly clock: Clock
  readonly ids: Ids
  readonly inspect: (db: Reader) => Promise<Inspection>
  readonly onProgress: (progress: CopyProgress) => void
}

export interface Restored extends Pick<Copied, 'records'> {
  /** What was published since the backup. An authority on this database refuses all requests until it is recovered. */
  readonly behind: readonly string[]
  /** Admission rules that the restore ended. */
  readonly endedRules: readonly string[]
}

/**
 * Restores a backup into an empty location, migrates it to this release, verifies every record, and ends unused
 * invites and all admission rules. An interrupted restore is never used: a file gets its name last, and PostgreSQL has a marker that locks it.
 */
export async function restoreBackup(facts: RestoreFacts): Promise<Restored> {
  const { manifest, place } = facts
  if (manifest.schema_version > EXPECTED_SCHEMA_VERSION) throw new NewerSchemaError(manifest.schema_version)
  if (isOldSchema(manifest.schema_version)) throw new OldSchemaError()
  return place.kind === 'sqlite' ? restoreFile(facts, place.path) : restoreRows(facts, openDatabase(place))
}

async function restoreRows(facts: RestoreFacts, target: Database): Promise<Restored> {
  const source = openSqliteReadOnly(join(facts.folder, DATABASE_PART))
  try {
    let endedRules: readonly string[] = []
    const { records } = await copyInto({ ...facts, source, target }, facts.manifest.schema_version, async (tx) => {
      endedRules = await endAdmission(tx, facts)
    })
    return { records, behind: await findRollbacks(target.read, facts.marks), endedRules }
  } finally {
    await source.close()
    await target.close()
  }
}

async function restoreFile(facts: RestoreFacts, path: string): Promise<Restored> {
  await refuseExisting(path)
  const temporary = `${path}.restoring`
  const clear = async (): Promise<void> => {
    for (const suffix of ['', '-wal', '-shm']) await rm(`${temporary}${suffix}`, { force: true })
  }
  await clear()
  try {
    facts.onProgress({ step: 'copying', table: '', done: 0, total: 0 })
    await copyFile(join(facts.folder, DATABASE_PART), temporary)
    const restored = await bringUp(openSqlite(temporary), facts)
    await syncFile(temporary)
    // Unlike a rename, a link never replaces a file that was created in the meantime.
    await link(temporary, path)
    await syncFile(dirname(path))
    return restored
  } finally {
    await clear()
  }
}

async function bringUp(database: Database, facts: RestoreFacts): Promise<Restored> {
  try {
    await migrate(database, () => facts.clock.now())
    await database.write(numberCopiedEvents)
    const records = await verifyCopy(database.read, facts)
    const endedRules = await database.write((tx) => endAdmission(tx, facts))
    return { records, behind: await findRollbacks(database.read, facts.marks), endedRules }
  } finally {
    await database.close()
  }
}

async function endAdmission(tx: Transaction, { clock }: RestoreFacts): Promise<readonly string[]> {
  const now = clock.now()
  await endInvites(tx, now)
  return endRules(tx, now, 'restored from a backup')
}

async function refuseExisting(path: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm']) {
    const found = await stat(`${path}${suffix}`).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (found !== undefined)
      throw new CopyError('target_not_empty', `the file to restore into is there already: ${path}${suffix}`)
  }
}
