import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Instant, type Signer, writeInstant } from '@chancery/protocol'
import type { Clock, Ids } from '@chancery/service-kit'
import type { HighWater } from '../rollback/mark-file.ts'
import { listTables } from '../database/copy/unfinished-copy.ts'
import { type Database, type Reader, countRows } from '../database/database.ts'
import { findRollbacks, readHeads } from '../rollback/positions.ts'
import { readSchemaVersion } from '../database/migrate.ts'
import { type SnapshotProgress, snapshotInto, syncFile } from '../database/copy/snapshot.ts'
import { openSqliteReadOnly } from '../database/sqlite/open.ts'
import { BackupError, DATABASE_PART, GENESIS_PART, HISTORY_PART, describePart, writeManifest } from './manifest.ts'
import type { BackupManifest, BackupPart, InspectedAuthority } from './manifest.ts'

export interface BackupFacts {
  /** Of any release up to this one. It may be in use. */
  readonly source: Database
  /** A folder that does not exist yet, or is empty. */
  readonly folder: string
  readonly authority: InspectedAuthority
  readonly signer: Signer
  /** Public files that a restored authority needs to start. */
  readonly genesisText: string
  readonly historyText: string | undefined
  readonly marks: readonly HighWater[]
  readonly clock: Clock
  readonly ids: Ids
  readonly onProgress: (progress: SnapshotProgress) => void
}

export interface BackupResult {
  readonly manifest: BackupManifest
  /** What the database lacks of the marks: it is rolled back, and so is its backup. */
  readonly behind: readonly string[]
}

/**
 * Copies a database in use into a folder, with a signed manifest. The folder gets its name when it is complete and on
 * disk. It contains no secrets: no private key, no settings.
 */
export async function createBackup(facts: BackupFacts): Promise<BackupResult> {
  const { folder, ids } = facts
  await checkSource(facts)
  await refuseFilled(folder)
  const temporary = `${folder}.unfinished-${ids.hex(8)}`
  await mkdir(temporary, { recursive: true, mode: 0o700 })
  try {
    const created = facts.clock.now()
    await snapshotInto(facts.source, join(temporary, DATABASE_PART), () => facts.clock.now(), facts.onProgress)
    await writeFile(join(temporary, GENESIS_PART), facts.genesisText, { mode: 0o600, flush: true })
    if (facts.historyText !== undefined)
      await writeFile(join(temporary, HISTORY_PART), facts.historyText, { mode: 0o600, flush: true })
    const backedUp = await describe(temporary, facts, created)
    await writeManifest(temporary, backedUp.manifest, facts.signer)
    await syncFile(temporary)
    // An empty folder of that name is used; rename refuses a folder with files.
    await rename(temporary, folder)
    await syncFile(dirname(folder))
    return backedUp
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    throw error
  }
}

/** A typo in the settings must not lead to a signed backup of another network or of an empty database. */
async function checkSource({ source, authority }: BackupFacts): Promise<void> {
  const tables = await listTables(source)
  if (!tables.includes('authority_identity')) throw new BackupError(`${source.location} holds no authority`)
  const identity = await source.read.selectFrom('authority_identity').selectAll().executeTakeFirst()
  if (identity?.network_name !== authority.sovereign || !authority.publicKeys.includes(identity.public_key))
    throw new BackupError(`${source.location} belongs to another network or another authority key`)
}

async function refuseFilled(folder: string): Promise<void> {
  const found = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new BackupError(`${folder} cannot be written to`, { cause: error })
  })
  if (found.length > 0) throw new BackupError(`${folder} is not empty: give each backup a new folder`)
}

/** Read from the copy itself, so that the manifest describes the copy and not later changes of the original. */
async function describe(folder: string, facts: BackupFacts, created: Instant): Promise<BackupResult> {
  const { authority, source, signer, historyText, marks } = facts
  const copy = openSqliteReadOnly(join(folder, DATABASE_PART))
  try {
    const db = copy.read
    const { last_crl: _list, last_feed: _feed, ...heads } = await readHeads(db)
    const created_at = writeInstant(created)
    const tables: Record<string, number> = {}
    for (const name of await listTables(copy)) tables[name] = await countRows(db, name)
    const names = [DATABASE_PART, GENESIS_PART, ...(historyText === undefined ? [] : [HISTORY_PART])]
    const parts: BackupPart[] = []
    for (const name of names) parts.push(await describePart(folder, name))
    const manifest: BackupManifest = {
      backup_version: 1,
      network_name: authority.sovereign,
      key_id: signer.keyId,
      created_at,
      engine: source.engine,
      schema_version: await readSchemaVersion(db),
      high_water: { mark_version: 1, network_name: authority.sovereign, written_at: created_at, ...heads },
      evidence_log_size: await readLogSize(db),
      tables,
      parts,
    }
    return { manifest, behind: await findRollbacks(db, marks) }
  } finally {
    await copy.close()
  }
}

async function readLogSize(db: Reader): Promise<number> {
  const row = await db
    .selectFrom('evidence_log_checkpoints')
    .select((eb) => eb.fn.max('tree_size').as('size'))
    .executeTakeFirst()
  return Number(row?.size ?? 0)
}
