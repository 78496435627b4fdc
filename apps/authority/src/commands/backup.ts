import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog, systemClock, systemIds } from '@chancery/service-kit'
import { EvidenceImportError, reimportEvidence } from '../features/evidence/import-evidence.ts'
import type { EvidenceImportResult } from '../features/evidence/import-evidence.ts'
import { createBackup } from '../recovery/backup.ts'
import { CopyError } from '../recovery/copy-database.ts'
import { type BackupManifest, DATABASE_PART, openBackup } from '../recovery/manifest.ts'
import { type Restored, restoreBackup } from '../recovery/restore.ts'
import {
  SETTINGS_INVALID,
  followBackup,
  followRotation,
  inspect,
  readAuthority,
  readMarks,
  runCommand,
} from './authority-identity.ts'
import type { AuthorityIdentity, Outcome } from './authority-identity.ts'
import { type CommandArguments, readSettingsOrExplain } from './key-succession.ts'
import { openKeyInUse } from './later-keys.ts'
import { readLines } from './unknown-records.ts'
import { openCore } from '../startup/open-core.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import { type Database, storeTime } from '../database/database.ts'
import { type DatabaseLocation, openDatabase, openExistingDatabase } from '../database/open.ts'
import { openSqliteReadOnly } from '../database/sqlite/open.ts'
import { EXPECTED_SCHEMA_VERSION } from '../database/migrate.ts'
import { TemporaryDatabaseError, createTemporaryDatabase } from '../database/copy/temporary-database.ts'

/** Progress of a command, as words that follow "backing up" or similar. */
export interface BackupProgress {
  readonly step: string
  readonly table: string
  readonly done: number
  readonly total: number
}

interface ProgressArguments extends CommandArguments {
  readonly onProgress: (progress: BackupProgress) => void
}

export interface BackupArguments extends ProgressArguments {
  /** A new folder. */
  readonly to: string
}

export interface BackupReport {
  /** Whether the database has recorded the backup. */
  readonly isNoted: boolean
  readonly manifest: BackupManifest
  readonly behind: readonly string[]
  /** Marks that the database was compared with. */
  readonly marks: number
  readonly seconds: number
}

/** Copies the database of the settings into a folder, with a manifest signed by the authority's key. */
export async function backup(args: BackupArguments): Promise<Outcome<BackupReport>> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return SETTINGS_INVALID
  return runCommand(async () => {
    const { authority: _authority, ...report } = await backUpInto(
      args.to,
      settings,
      await readAuthority(settings),
      args,
    )
    return { ...report, isNoted: await noteBackup(settings.databaseLocation) }
  })
}

/** Records that another tool has taken a backup, for the alert on the age of the last one. */
export async function noteBackupElsewhere(args: CommandArguments): Promise<Outcome<{ readonly isNoted: boolean }>> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return SETTINGS_INVALID
  return runCommand(async () => ({ isNoted: await noteBackup(settings.databaseLocation) }))
}

/** The backup is valid whether or not it could be recorded: a disk may be full, or the database read-only here. */
async function noteBackup(place: DatabaseLocation): Promise<boolean> {
  let database: Database | undefined
  try {
    database = openExistingDatabase(place)
    await database.write((tx) => storeTime(tx, 'backup', systemClock.now()))
    return true
  } catch {
    return false
  } finally {
    await database?.close()
  }
}

/** Also returns the authority as its database has it, which verifies the backup. */
async function backUpInto(
  folder: string,
  settings: AuthoritySettings,
  given: AuthorityIdentity,
  { onProgress }: ProgressArguments,
): Promise<Omit<BackupReport, 'isNoted'> & { readonly authority: AuthorityIdentity }> {
  const started = systemClock.monotonicMs()
  const { databaseLocation: place } = settings
  // Does not create a missing file, and does not migrate the database of an older release.
  const source = place.kind === 'sqlite' ? openSqliteReadOnly(place.path) : openDatabase(place)
  try {
    const authority = await followRotation(source, given)
    const signer = await openKeyInUse(settings, authority)
    const marks = await readMarks(settings.highWaterFiles, authority)
    const { genesisText } = authority
    const { historyText } = authority.ownKeys
    const parts = { folder, authority, signer, genesisText, historyText, marks, clock: systemClock, ids: systemIds }
    const step = 'backing up'
    const backedUp = await createBackup({ ...parts, source, onProgress: (far) => onProgress({ step, ...far }) })
    return { ...backedUp, authority, marks: marks.length, seconds: secondsSince(started) }
  } finally {
    await source.close()
  }
}

export interface RestoreArguments extends ProgressArguments {
  readonly from: string
  readonly restart: boolean
  /** Although there is no mark outside the database. */
  readonly withoutMark: boolean
}

export interface RestoreReport extends Restored {
  readonly manifest: BackupManifest
  readonly schemaVersion: number
  readonly marks: number
  readonly seconds: number
}

/**
 * Restores a backup into the empty database of the settings, and reports whether it must be recovered before it serves.
 */
export async function restore(args: RestoreArguments): Promise<Outcome<RestoreReport>> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return SETTINGS_INVALID
  return runCommand(async () => {
    const authority = await followBackup(args.from, await readAuthority(settings))
    const marks = await readMarks(settings.highWaterFiles, authority)
    if (marks.length === 0 && !args.withoutMark)
      throw new CopyError(
        'mark_missing',
        `NA_HIGH_WATER_FILES: there is no mark (${settings.highWaterFiles.join(', ') || 'not set'}), so revocations made after the backup could not be detected`,
      )
    return restoreInto(settings.databaseLocation, authority, marks, args)
  })
}

async function restoreInto(
  place: DatabaseLocation,
  authority: AuthorityIdentity,
  marks: Awaited<ReturnType<typeof readMarks>>,
  { from, restart, onProgress }: Pick<RestoreArguments, 'from' | 'restart' | 'onProgress'>,
): Promise<RestoreReport> {
  const started = systemClock.monotonicMs()
  onProgress({ step: 'checking the digests', table: '', done: 0, total: 0 })
  const manifest = await openBackup(from, authority)
  const parts = { clock: systemClock, ids: systemIds, restart, onProgress, marks }
  const facts = { ...parts, folder: from, manifest, place }
  const restored = await restoreBackup({ ...facts, inspect: (db) => inspect(db, authority) })
  const seconds = secondsSince(started)
  return { ...restored, manifest, schemaVersion: EXPECTED_SCHEMA_VERSION, marks: marks.length, seconds }
}

export interface RehearseArguments extends ProgressArguments {
  /** Without it a backup is taken first. */
  readonly from?: string
  /** In a temporary SQLite file, whatever the settings name. */
  readonly onSqlite: boolean
}

export interface RehearseReport extends RestoreReport {
  readonly backupSeconds: number | undefined
  readonly bytes: number
  readonly engine: DatabaseLocation['kind']
}

/** Restores into a temporary location. The database of the settings is only read. */
export async function rehearse(args: RehearseArguments): Promise<Outcome<RehearseReport>> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return SETTINGS_INVALID
  return runCommand(async () => {
    const authority = await readAuthority(settings)
    const scratch = await mkdtemp(join(tmpdir(), 'chancery-rehearsal-'))
    try {
      const { from } = args
      if (from !== undefined)
        return await rehearseFrom(from, settings, await followBackup(from, authority), args, undefined)
      const folder = join(scratch, 'backup')
      const backedUp = await backUpInto(folder, settings, authority, args)
      return await rehearseFrom(folder, settings, backedUp.authority, args, backedUp.seconds)
    } finally {
      await rm(scratch, { recursive: true, force: true })
    }
  })
}

async function rehearseFrom(
  from: string,
  settings: AuthoritySettings,
  authority: AuthorityIdentity,
  { onSqlite, onProgress }: RehearseArguments,
  backupSeconds: number | undefined,
): Promise<RehearseReport> {
  const like: DatabaseLocation = onSqlite ? { kind: 'sqlite', path: '' } : settings.databaseLocation
  const throwaway = await createTemporaryDatabase(like, systemIds).catch((error: unknown) => {
    if (error instanceof TemporaryDatabaseError) throw new CopyError('no_throwaway', error.message)
    throw error
  })
  try {
    const marks = await readMarks(settings.highWaterFiles, authority)
    const report = await restoreInto(throwaway.place, authority, marks, { from, restart: false, onProgress })
    const bytes = report.manifest.parts.find(({ name }) => name === DATABASE_PART)?.bytes ?? 0
    return { ...report, backupSeconds, bytes, engine: throwaway.place.kind }
  } finally {
    await throwaway.drop()
  }
}

export interface ImportArguments extends CommandArguments {
  /** An export of the evidence store. */
  readonly from: string
  /** A folder with saved anchors. */
  readonly anchors?: string
}

/** Imports evidence that a restored database lacks. */
export async function importEvidence(args: ImportArguments): Promise<Outcome<EvidenceImportResult>> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return SETTINGS_INVALID
  return runCommand(async () => {
    const anchors = args.anchors === undefined ? [] : await readAnchorFiles(args.anchors)
    await stat(args.from).catch((error: unknown) => {
      throw new EvidenceImportError(`--from: ${args.from} cannot be read`, { cause: error })
    })
    const log = createLog({ level: 'error', format: 'text' })
    const opened = await openCore(settings, { log, isRecovering: true })
    try {
      return await reimportEvidence({ ...opened.core, settings }, { lines: () => readLines(args.from), anchors })
    } finally {
      await opened.close()
    }
  })
}

/** As `chancery evidence anchor --out` writes them. */
async function readAnchorFiles(folder: string): Promise<readonly string[]> {
  try {
    const names = (await readdir(folder)).filter((name) => name.endsWith('.json'))
    return await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  } catch (error) {
    throw new EvidenceImportError(`--anchors: ${folder} cannot be read`, { cause: error })
  }
}

function secondsSince(started: number): number {
  return Math.round(systemClock.monotonicMs() - started) / 1000
}
