import { CopyError } from '../recovery/copy-database.ts'
import { inspectStore } from '../features/evidence/verify-store.ts'
import { EvidenceImportError } from '../features/evidence/import-evidence.ts'
import { type Inspection, inspectDatabase } from '../recovery/inspect.ts'
import { BackupError, type InspectedAuthority } from '../recovery/manifest.ts'
import { loadGenesis } from '../startup/checks.ts'
import { isOperatorError } from './key-succession.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import { type HighWater, MarkFileError, readMark } from '../rollback/mark-file.ts'
import { loadOwnKeys } from '../signing/own-keys.ts'
import { type LaterKeys, findKeysOfBackup, findLaterKeys } from './later-keys.ts'
import { listTables } from '../database/copy/unfinished-copy.ts'
import type { Database, Reader } from '../database/database.ts'
import { OldSchemaError, isOldSchema, readSchemaVersion } from '../database/migrate.ts'
import { explainDatabaseError } from '../database/open.ts'

/** The result of an inspection or a copy, or why there is none. */
export type Outcome<Value> =
  | ({ readonly ok: true } & Value)
  | { readonly ok: false; readonly code: string; readonly message: string; readonly problems: readonly string[] }

export const SETTINGS_INVALID = {
  ok: false,
  code: 'settings_invalid',
  message: 'the settings are not usable',
  problems: [],
} as const

/** The authority that the settings name, from public files only. No key is opened. */
export interface AuthorityIdentity extends InspectedAuthority, LaterKeys {}

export async function readAuthority({
  genesisFile,
  keyHistoryFile,
  keyId,
}: AuthoritySettings): Promise<AuthorityIdentity> {
  const { block, text } = await loadGenesis(genesisFile)
  const current = { keyId, publicKey: block.network_authority.public_key }
  const ownKeys = await loadOwnKeys(keyHistoryFile, block, current, undefined)
  const sovereign = block.network_name
  return { publicKeys: ownKeys.all, sovereign, keyId, ownKeys, genesis: block, genesisText: text }
}

/** The same authority with the keys that its instances use. */
export async function followRotation(database: Database, authority: AuthorityIdentity): Promise<AuthorityIdentity> {
  const isNew = !(await listTables(database)).includes('schema_version')
  if (!isNew && isOldSchema(await readSchemaVersion(database.read))) throw new OldSchemaError()
  return withKeys(authority, await findLaterKeys(database, authority))
}

/** The same authority with the keys of the backup, where these are later. */
export async function followBackup(folder: string, authority: AuthorityIdentity): Promise<AuthorityIdentity> {
  return withKeys(authority, await findKeysOfBackup(folder, authority))
}

function withKeys(authority: AuthorityIdentity, later: LaterKeys | undefined): AuthorityIdentity {
  return later === undefined ? authority : { ...authority, ...later, publicKeys: later.ownKeys.all }
}

/** The existing marks. A file that is not a mark of this authority stops the command. */
export async function readMarks(
  files: readonly string[],
  { publicKeys }: InspectedAuthority,
): Promise<readonly HighWater[]> {
  const marks: HighWater[] = []
  for (const file of new Set(files)) {
    const mark = await readMark(file, publicKeys)
    if (mark !== undefined) marks.push(mark)
  }
  return marks
}

export function inspect(db: Reader, authority: InspectedAuthority): Promise<Inspection> {
  return inspectDatabase(db, authority, inspectStore)
}

export async function runCommand<Value>(work: () => Promise<Value>): Promise<Outcome<Value>> {
  try {
    return { ok: true, ...(await work()) }
  } catch (error) {
    if (error instanceof CopyError)
      return { ok: false, code: error.code, message: error.message, problems: error.problems }
    if (error instanceof EvidenceImportError)
      return { ok: false, code: error.code, message: error.message, problems: [] }
    if (error instanceof BackupError)
      return { ok: false, code: 'backup_unusable', message: error.message, problems: [] }
    if (isOperatorError(error) || error instanceof MarkFileError)
      return { ok: false, code: 'settings_invalid', message: error.message, problems: [] }
    const message = explainDatabaseError(error)
    if (message === undefined) throw error
    return { ok: false, code: 'database_unavailable', message: `the database cannot be read: ${message}`, problems: [] }
  }
}
