import { CopyRefused } from './features/recovery/copy-database.ts'
import { inspectStore } from './features/evidence/inspection.ts'
import { ReimportRefused } from './features/evidence/reimport.ts'
import { inspectDatabase } from './features/recovery/inspect.ts'
import type { Inspection } from './features/recovery/inspect.ts'
import type { InspectedAuthority } from './features/recovery/inspection-notes.ts'
import { BackupUnusable } from './features/recovery/manifest.ts'
import { loadGenesis } from './genesis.ts'
import { isExpected } from './host-settings.ts'
import type { AuthoritySettings } from './settings.ts'
import { MarkUnusable, readMark } from './signing/high-water.ts'
import type { HighWater } from './signing/high-water.ts'
import { loadOwnKeys } from './signing/own-keys.ts'
import type { OwnKeys } from './signing/own-keys.ts'
import type { Tx } from './store/database.ts'
import { translateStoreError } from './store/open.ts'

/** What an inspection or a copy came to, or why there was none. */
export type Outcome<Value> =
  | ({ readonly ok: true } & Value)
  | { readonly ok: false; readonly code: string; readonly message: string; readonly problems: readonly string[] }

export const NOT_STARTED = {
  ok: false,
  code: 'settings_invalid',
  message: 'the settings are not usable',
  problems: [],
} as const

/** Who the settings say this is, from public files only: no key is opened. */
export interface HostAuthority extends InspectedAuthority {
  readonly ownKeys: OwnKeys
  readonly genesisText: string
}

export async function readAuthority({ genesisFile, keyHistoryFile, keyId }: AuthoritySettings): Promise<HostAuthority> {
  const { block, text } = await loadGenesis(genesisFile)
  const current = { keyId, publicKey: block.network_authority.public_key }
  const ownKeys = await loadOwnKeys(keyHistoryFile, block, current, undefined)
  return { publicKeys: ownKeys.all, sovereign: block.network_name, ownKeys, genesisText: text }
}

/** The marks that are there; a file that is none of ours stops the command. */
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

export function inspect(db: Tx, authority: InspectedAuthority): Promise<Inspection> {
  return inspectDatabase(db, authority, inspectStore)
}

export async function outcomeOf<Value>(work: () => Promise<Value>): Promise<Outcome<Value>> {
  try {
    return { ok: true, ...(await work()) }
  } catch (error) {
    if (error instanceof CopyRefused)
      return { ok: false, code: error.code, message: error.message, problems: error.problems }
    if (error instanceof ReimportRefused)
      return { ok: false, code: 'evidence_not_imported', message: error.message, problems: [] }
    if (error instanceof BackupUnusable)
      return { ok: false, code: 'backup_unusable', message: error.message, problems: [] }
    if (isExpected(error) || error instanceof MarkUnusable)
      return { ok: false, code: 'settings_invalid', message: error.message, problems: [] }
    if (translateStoreError(error) === undefined) throw error
    return { ok: false, code: 'database_unavailable', message: 'the database cannot be read', problems: [] }
  }
}
