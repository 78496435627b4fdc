import { readFile } from 'node:fs/promises'
import { writeInstant } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import { createLog, systemClock, systemIds } from '@chancery/service-kit'
import { copyDatabase } from './features/recovery/copy-database.ts'
import type { Copied, CopyProgress } from './features/recovery/copy-database.ts'
import { CopyRefused } from './features/recovery/copy-database.ts'
import type { Inspection } from './features/recovery/inspect.ts'
import { readGatewayLists } from './features/recovery/gateway-lists.ts'
import { PublishedUnusable, chooseOwnList } from './features/recovery/published.ts'
import type { Published } from './features/recovery/published.ts'
import { NothingToRecover, recoverState } from './features/recovery/recover.ts'
import { ClockUnfit, redateHeads } from './features/recovery/redate.ts'
import type { Redated } from './features/recovery/redate.ts'
import { NOT_STARTED, inspect, outcomeOf, readAuthority, readMarks } from './host-authority.ts'
import type { Outcome } from './host-authority.ts'
import { isExpected, readSettingsOrExplain } from './host-settings.ts'
import type { HostArguments } from './host-settings.ts'
import { openOffice } from './open-office.ts'
import type { Store, Tx } from './store/database.ts'
import { openKeptStore, openStore, translateStoreError } from './store/open.ts'
import { openSqliteAlone } from './store/sqlite.ts'
import { UnfinishedCopy, isCopyUnfinished } from './store/unfinished-copy.ts'

export interface RecoverArguments extends HostArguments {
  /** Files with the newest list and feed that others still hold. */
  readonly crl?: string
  readonly feed?: string
  /** From a clock that was ahead, not from an old backup: the present time, as another clock shows it. */
  readonly datedAhead?: Instant
}

/** Brings a restored database past its high-water mark; no instance has to stop for it, none serves meanwhile. */
export async function recover(args: RecoverArguments): Promise<number> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return 1
  const log = createLog({ level: 'error', format: 'text' })
  try {
    const { crl: lists, ...others } = await readPublished(args)
    const opened = await openOffice(settings, { log, isRecovering: true })
    try {
      if (args.datedAhead !== undefined) return sayRedated(await redateHeads(opened.office, args.datedAhead))
      const { current } = opened.office.ownKeys
      const crl = lists === undefined ? {} : { crl: await chooseOwnList(lists, current) }
      const recovery = await recoverState(opened.office, { ...others, ...crl })
      const { crlSequence, feedSequence, revocations, agents, replayFloor } = recovery
      const lines = [
        `recovered: ${revocations} withdrawals came back`,
        `revocation list ${crlSequence ?? 'none'}, feed ${feedSequence ?? 'none'}`,
        ...(replayFloor === undefined
          ? ['rows that were gone came back from the last signed list and feed']
          : [
              `signed requests dated up to ${writeInstant(replayFloor)} are refused; unspent invites have ended`,
              `${agents} agents were taken out until they announce themselves again`,
            ]),
        ...(opened.office.rollbackWatch.isEvidenceBehind
          ? ['evidence is missing, its store stays closed: chancery authority import-evidence']
          : []),
      ]
      process.stdout.write(`${lines.join('\n')}\n`)
      return 0
    } finally {
      await opened.close()
    }
  } catch (error) {
    const isKnown = [NothingToRecover, PublishedUnusable, ClockUnfit].some((known) => error instanceof known)
    if (!(error instanceof Error) || (!isExpected(error) && !isKnown)) throw error
    process.stderr.write(`chancery: nothing was recovered: ${error.message}\n`)
    return 1
  }
}

function sayRedated({ crlSequence, feedSequence }: Redated): number {
  const lines = [
    ...(crlSequence === undefined ? [] : [`revocation list ${crlSequence} is dated by this clock`]),
    ...(feedSequence === undefined ? [] : [`feed ${feedSequence} is dated by this clock`]),
    'verifiers that refused the ones dated ahead accept these; those stay in the record',
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  return 0
}

interface PublishedFiles extends Pick<Published, 'feed'> {
  /** Several in the state of a gateway. */
  readonly crl?: readonly string[]
}

async function readPublished({ crl, feed }: RecoverArguments): Promise<PublishedFiles> {
  const read = async (flag: string, path: string): Promise<string> => {
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      throw new PublishedUnusable(`${flag}: ${path} cannot be read`, { cause: error })
    })
    return text.trim()
  }
  return {
    ...(crl === undefined ? {} : { crl: readGatewayLists(crl) ?? [await read('--crl', crl)] }),
    ...(feed === undefined ? {} : { feed: await read('--feed', feed) }),
  }
}

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
