import { readFile } from 'node:fs/promises'
import { writeInstant } from '@chancery/protocol'
import { systemClock, systemIds } from '@chancery/service-kit'
import { copyDatabase } from '../recovery/copy-database.ts'
import type { Copied, CopyProgress } from '../recovery/copy-database.ts'
import { CopyError } from '../recovery/copy-database.ts'
import type { Inspection } from '../recovery/inspect.ts'
import { type Published, PublishedListError, chooseOwnList, readGatewayLists } from '../recovery/published-lists.ts'
import { NothingToRecoverError, type Recovery, recoverState } from '../recovery/recover.ts'
import {
  type Outcome,
  SETTINGS_INVALID,
  followRotation,
  inspect,
  readAuthority,
  readMarks,
  runCommand,
} from './authority-identity.ts'
import { type CommandArguments, isOperatorError, readSettingsOrExplain } from './key-succession.ts'
import { withRecovery } from './resign-lists.ts'
import type { Database, Reader } from '../database/database.ts'
import { openExistingDatabase, openDatabase, translateDatabaseError } from '../database/open.ts'
import { openSqliteExclusive } from '../database/sqlite/open.ts'
import { UnfinishedCopyError, isCopyUnfinished } from '../database/copy/unfinished-copy.ts'

export interface RecoverArguments extends CommandArguments {
  /** Files with the newest list and feed that others have. */
  readonly crl?: string
  readonly feed?: string
  /** Although there is neither a mark nor a list of others. */
  readonly withoutMark?: boolean
}

/**
 * Brings a restored database past its high-water mark. No instance has to stop for it; all refuse requests in the
 * meantime.
 */
export async function recover(args: RecoverArguments): Promise<number> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return 1
  try {
    const { crl: lists, ...others } = await readPublished(args)
    const lines = await withRecovery(settings, async (parts) => {
      const crl = lists === undefined ? {} : { crl: await chooseOwnList(lists, parts.keys.current) }
      const recovery = await recoverState(parts, { ...others, ...crl })
      if (!parts.rollback.isEvidenceBehind) return recoveryLines(recovery)
      return [...recoveryLines(recovery), 'evidence is missing, its store stays closed: chancery authority recover']
    })
    process.stdout.write(`${lines.join('\n')}\n`)
    return 0
  } catch (error) {
    const isKnown = error instanceof NothingToRecoverError || error instanceof PublishedListError
    if (!(error instanceof Error) || (!isOperatorError(error) && !isKnown)) throw error
    process.stderr.write(`chancery: nothing was recovered: ${error.message}\n`)
    return 1
  }
}

/** What the command prints. */
export function recoveryLines({
  crlSequence,
  feedSequence,
  revocations,
  agents,
  rules,
  replayFloor,
}: Recovery): readonly string[] {
  return [
    `recovered: ${revocations} withdrawals came back`,
    `revocation list ${crlSequence ?? 'none'}, feed ${feedSequence ?? 'none'}`,
    ...(replayFloor === undefined
      ? [
          'rows that were gone came back from the last signed list and feed',
          'what was trusted before is unknown from now on: answers need an archive or statement of before the loss',
        ]
      : [
          `signed requests dated up to ${writeInstant(replayFloor)} are refused; unspent invites have ended`,
          `${agents} agents were taken out until they announce themselves again`,
          ...(rules === 0
            ? []
            : [
                `${rules} admission rules have ended: add those that you still need under new names (chancery invite rule add)`,
              ]),
        ]),
  ]
}

interface PublishedFiles extends Pick<Published, 'feed' | 'withoutMark'> {
  /** Several in the state of a gateway. */
  readonly crl?: readonly string[]
}

async function readPublished({ crl, feed, withoutMark }: RecoverArguments): Promise<PublishedFiles> {
  const read = async (flag: string, path: string): Promise<string> => {
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      throw new PublishedListError(`${flag}: ${path} cannot be read`, { cause: error })
    })
    return text.trim()
  }
  return {
    ...(withoutMark === undefined ? {} : { withoutMark }),
    ...(crl === undefined ? {} : { crl: readGatewayLists(crl) ?? [await read('--crl', crl)] }),
    ...(feed === undefined ? {} : { feed: await read('--feed', feed) }),
  }
}

/** Verifies everything in the database. Changes nothing. */
export async function verifyDatabase(args: CommandArguments): Promise<Outcome<Inspection>> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return SETTINGS_INVALID
  return runCommand(async () => {
    const authority = await readAuthority(settings)
    const database = openExistingDatabase(settings.databaseLocation)
    try {
      if (await isCopyUnfinished(database)) throw new UnfinishedCopyError()
      return await inspect(database.read, await followRotation(database, authority))
    } finally {
      await database.close()
    }
  })
}

export interface CopyArguments extends CommandArguments {
  /** The SQLite file. */
  readonly from: string
  readonly restart: boolean
  readonly onProgress: (progress: CopyProgress) => void
}

/** Copies an SQLite authority into the PostgreSQL database of the settings. */
export async function migrateDatabase(args: CopyArguments): Promise<Outcome<Copied>> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return SETTINGS_INVALID
  return runCommand(async () => {
    const { databaseLocation: place } = settings
    if (place.kind !== 'postgres')
      throw new CopyError('target_not_empty', 'DATABASE_URL: must name the PostgreSQL database to copy into')
    const given = await readAuthority(settings)
    const source = openSource(args.from)
    const target = openDatabase(place)
    try {
      const authority = await followRotation(source, given)
      const marks = await readMarks([`${args.from}.mark`, ...settings.highWaterFiles], authority)
      const parts = { clock: systemClock, ids: systemIds, inspect: (db: Reader) => inspect(db, authority) }
      return await copyDatabase({ ...args, ...parts, source, target, authority, marks })
    } finally {
      await source.close()
      await target.close()
    }
  })
}

function openSource(path: string): Database {
  try {
    return openSqliteExclusive(path)
  } catch (error) {
    const why = translateDatabaseError(error) === undefined ? 'cannot be read' : 'is in use: stop its authority first'
    throw new CopyError('source_unfit', `--from: ${path} ${why}`)
  }
}
