import { writeInstant } from '@chancery/protocol'
import { createLog, systemClock, systemIds } from '@chancery/service-kit'
import { copyDatabase } from './features/recovery/copy-database.ts'
import type { Copied, CopyProgress } from './features/recovery/copy-database.ts'
import { CopyRefused } from './features/recovery/copy-database.ts'
import { inspectStore } from './features/evidence/inspection.ts'
import { inspectDatabase } from './features/recovery/inspect.ts'
import type { Inspection } from './features/recovery/inspect.ts'
import type { InspectedAuthority } from './features/recovery/inspection-notes.ts'
import { NothingToRecover, recoverState } from './features/recovery/recover.ts'
import { loadGenesis } from './genesis.ts'
import { isExpected, readSettingsOrExplain } from './host-settings.ts'
import type { HostArguments } from './host-settings.ts'
import { openOffice } from './open-office.ts'
import type { AuthoritySettings } from './settings.ts'
import { MarkUnusable, readMark } from './signing/high-water.ts'
import type { HighWater } from './signing/high-water.ts'
import { loadOwnKeys } from './signing/own-keys.ts'
import type { Store, Tx } from './store/database.ts'
import { openKeptStore, openStore, translateStoreError } from './store/open.ts'
import { openSqliteAlone } from './store/sqlite.ts'
import { UnfinishedCopy, isCopyUnfinished } from './store/unfinished-copy.ts'

/** Brings a restored database past its high-water mark; no instance has to stop for it, none serves meanwhile. */
export async function recover(args: HostArguments): Promise<number> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return 1
  const log = createLog({ level: 'error', format: 'text' })
  try {
    const opened = await openOffice(settings, { log, isRecovering: true })
    try {
      const { crlSequence, feedSequence, revocations, replayFloor } = await recoverState(opened.office)
      const lines = [
        `recovered: ${revocations} withdrawals came back`,
        `revocation list ${crlSequence ?? 'none'}, feed ${feedSequence ?? 'none'}`,
        `signed requests dated up to ${writeInstant(replayFloor)} are refused; unspent invites have ended`,
        ...(opened.office.rollbackWatch.isEvidenceBehind ? ['evidence is missing: its store stays closed'] : []),
      ]
      process.stdout.write(`${lines.join('\n')}\n`)
      return 0
    } finally {
      await opened.close()
    }
  } catch (error) {
    if (!isExpected(error) && !(error instanceof NothingToRecover)) throw error
    process.stderr.write(`chancery: nothing was recovered: ${error.message}\n`)
    return 1
  }
}

/** What an inspection or a copy came to, or why there was none. */
export type Outcome<Value> =
  | ({ readonly ok: true } & Value)
  | { readonly ok: false; readonly code: string; readonly message: string; readonly problems: readonly string[] }

const NOT_STARTED = {
  ok: false,
  code: 'settings_invalid',
  message: 'the settings are not usable',
  problems: [],
} as const

/** Looks at everything the database holds and changes nothing. */
export async function verifyDatabase(args: HostArguments): Promise<Outcome<Inspection>> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return NOT_STARTED
  return outcomeOf(async () => {
    const authority = await readAuthority(settings)
    const store = openKeptStore(settings.storePlace)
    try {
      if (await isCopyUnfinished(store)) throw new UnfinishedCopy()
      return await inspect(store.db, authority)
    } finally {
      await store.close()
    }
  })
}

export interface CopyArguments extends HostArguments {
  /** The SQLite file. */
  readonly from: string
  readonly restart: boolean
  readonly onProgress: (progress: CopyProgress) => void
}

/** Copies an SQLite authority into the PostgreSQL database of the settings. */
export async function migrateDatabase(args: CopyArguments): Promise<Outcome<Copied>> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return NOT_STARTED
  return outcomeOf(async () => {
    const { storePlace: place } = settings
    if (place.kind !== 'postgres')
      throw new CopyRefused('target_not_empty', 'DATABASE_URL: must name the PostgreSQL database to copy into')
    const authority = await readAuthority(settings)
    const marks = await readMarks([`${args.from}.mark`, ...settings.highWaterFiles], authority)
    const source = openSource(args.from)
    const target = openStore(place)
    try {
      const parts = { clock: systemClock, ids: systemIds, inspect: (db: Tx) => inspect(db, authority) }
      return await copyDatabase({ ...args, ...parts, source, target, authority, marks })
    } finally {
      await source.close()
      await target.close()
    }
  })
}

function openSource(path: string): Store {
  try {
    return openSqliteAlone(path)
  } catch (error) {
    const why = translateStoreError(error) === undefined ? 'cannot be read' : 'is in use: stop its authority first'
    throw new CopyRefused('source_unfit', `--from: ${path} ${why}`)
  }
}

async function readAuthority({ genesisFile, keyHistoryFile, keyId }: AuthoritySettings): Promise<InspectedAuthority> {
  const { block } = await loadGenesis(genesisFile)
  const current = { keyId, publicKey: block.network_authority.public_key }
  const ownKeys = await loadOwnKeys(keyHistoryFile, block, current, undefined)
  return { publicKeys: ownKeys.all, sovereign: block.network_name }
}

async function readMarks(files: readonly string[], { publicKeys }: InspectedAuthority): Promise<readonly HighWater[]> {
  const marks: HighWater[] = []
  for (const file of new Set(files)) {
    const mark = await readMark(file, publicKeys)
    if (mark !== undefined) marks.push(mark)
  }
  return marks
}

function inspect(db: Tx, authority: InspectedAuthority): Promise<Inspection> {
  return inspectDatabase(db, authority, inspectStore)
}

async function outcomeOf<Value>(work: () => Promise<Value>): Promise<Outcome<Value>> {
  try {
    return { ok: true, ...(await work()) }
  } catch (error) {
    if (error instanceof CopyRefused)
      return { ok: false, code: error.code, message: error.message, problems: error.problems }
    if (isExpected(error) || error instanceof MarkUnusable)
      return { ok: false, code: 'settings_invalid', message: error.message, problems: [] }
    if (translateStoreError(error) === undefined) throw error
    return { ok: false, code: 'database_unavailable', message: 'the database cannot be read', problems: [] }
  }
}
