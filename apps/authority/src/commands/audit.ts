import { type AuditFormat, writeAuditLine } from '@chancery/contract'
import { createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { once } from 'node:events'
import { dirname } from 'node:path'
import { writeSortable } from '@chancery/protocol'
import {
  PackageMissingError,
  type Reader,
  SettingError,
  createLog,
  loadOptional,
  matching,
} from '@chancery/service-kit'
import { systemClock } from '@chancery/service-kit'
import { BEGINNING, CursorUnknownError, exportAudit, readCursor, writeCursor } from '../audit/export.ts'
import type { AuditCursor, LineWriter } from '../audit/export.ts'
import {
  findPosition,
  forwardAudit,
  storePosition,
  listReaders,
  removePosition,
  resetPosition,
} from '../audit/forward.ts'
import type { NatsOptions } from '../audit/nats-receiver.ts'
import { readAuditSettings } from '../settings/audit-settings.ts'
import { urlOf } from '../settings/readers.ts'
import { type CommandArguments, readOrReport } from './key-succession.ts'
import { EXPORT_NAME } from '../audit/sequence.ts'
import type { Database } from '../database/database.ts'
import { EXPECTED_SCHEMA_VERSION, readSchemaVersion } from '../database/migrate.ts'
import { openExistingDatabase, translateDatabaseError } from '../database/open.ts'
import { syncFile } from '../database/copy/snapshot.ts'

interface FormatArguments {
  /** Default: json. */
  readonly format?: AuditFormat
  /** Version of the product, for the formats that name it. */
  readonly version?: string
}

export interface ExportArguments extends CommandArguments, FormatArguments {
  readonly after?: string
  readonly limit?: number
  /** A new file. Without it, standard output. */
  readonly out?: string
  /** The export whose position is continued and stored. */
  readonly name?: string
}

export interface ForwardArguments extends CommandArguments, FormatArguments {
  /** URL of the NATS server, or a file with it, because other users of the machine see arguments. */
  readonly to: string | { readonly file: string }
  readonly credsFile: string | undefined
  readonly caFile: string | undefined
  readonly stream: string
  readonly subject: string
  readonly after?: string
  readonly name: string
  readonly isOnce: boolean
  readonly stop: AbortSignal
}

export interface RemoveReaderArguments extends CommandArguments {
  readonly kind: 'forwarder' | 'export'
  readonly name: string
}

const PAGE = 1000

/**
 * Writes events as JSON Lines. The last line on standard error is the cursor to continue from. With a name the position
 * is stored after the file is on disk, because exported events may be removed here (audit/remove.job.ts).
 */
export function auditExport(args: ExportArguments): Promise<number> {
  return withDatabase(args, async (database) => {
    const given = readAfter(args.after)
    if (args.name !== undefined && args.out === undefined) throw new CommandError('--name: needs --out')
    // Events between the two positions would count as exported.
    if (args.name !== undefined && given !== BEGINNING) throw new CommandError('--name: not together with --after')
    let last = args.name === undefined ? given : await findPosition(database, `${EXPORT_NAME}${args.name}`)
    let left = args.limit ?? Number.POSITIVE_INFINITY
    const output = args.out === undefined ? process.stdout : createWriteStream(args.out, { flags: 'wx', mode: 0o600 })
    const write = async (text: string): Promise<void> => {
      if (!output.write(text)) await once(output, 'drain')
    }
    if (output !== process.stdout) await once(output, 'open')
    const writeLine = await lineWriter(database, args)
    for await (const page of exportAudit(database, last, Math.min(PAGE, left), writeLine)) {
      const taken = page.slice(0, left)
      await write(taken.map(({ line }) => `${line}\n`).join(''))
      left -= taken.length
      last = taken.at(-1) ?? last
      if (left <= 0) break
    }
    if (output !== process.stdout) {
      output.end()
      await once(output, 'close')
    }
    if (args.name !== undefined && args.out !== undefined) {
      await syncFile(args.out)
      await syncFile(dirname(args.out))
      await storePosition({ database, name: `${EXPORT_NAME}${args.name}`, clock: systemClock }, last)
    }
    process.stderr.write(`next: --after ${writeCursor(last)}\n`)
    return 0
  })
}

/** Sends events to NATS JetStream until it is stopped, or with `isOnce` until all are sent. */
export function auditForward(args: ForwardArguments): Promise<number> {
  return withDatabase(args, async (database) => {
    const log = createLog({
      level: 'info',
      format: process.stderr.isTTY ? 'text' : 'json',
      destination: process.stderr,
    })
    const place = await readPlace(args)
    const { isOnce, name, stop: signal } = args
    // Loaded only now, because only this command needs a NATS client. Without it, nothing is changed.
    const { openNatsReceiver } = await loadOptional('nats', 'audit forward', () => import('../audit/nats-receiver.ts'))
    if (args.after !== undefined)
      await resetPosition(database, name, readAfter(args.after), writeSortable(systemClock.now()))
    const receiver = await openNatsReceiver(place, await networkName(database))
    try {
      const write = await lineWriter(database, args)
      const { sent } = await forwardAudit({ database, receiver, name, clock: systemClock, log, signal, isOnce, write })
      log.info('forwarding ended', { sent })
      return 0
    } finally {
      await receiver.close()
    }
  })
}

const STREAM_NAME = matching(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 characters of A-Z a-z 0-9 _ -')
const SUBJECT = matching(
  /^[A-Za-z0-9_-]{1,64}(?:\.[A-Za-z0-9_-]{1,64}){0,7}$/,
  'must be words of A-Z a-z 0-9 _ - joined by dots',
)

/** Reads where events go. No message contains the URL, which may have a password. */
async function readPlace({ to, credsFile, caFile, stream, subject, format }: ForwardArguments): Promise<NatsOptions> {
  const url = typeof to === 'string' ? readOption('--to', urlOf('nats', 'tls'), to) : await readUrlFile(to.file)
  if (typeof to === 'string' && (new URL(url).username !== '' || new URL(url).password !== ''))
    throw new CommandError('--to: has a user or password; put the URL into a file for --to-file')
  return {
    url,
    credsFile,
    caFile,
    stream: readOption('--stream', STREAM_NAME, stream),
    subject: readOption('--subject', SUBJECT, subject),
    format,
  }
}

async function readUrlFile(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) throw new CommandError('--to-file: cannot be read')
  return readOption('--to-file', urlOf('nats', 'tls'), text.trim())
}

function readOption(option: string, read: Reader<string>, text: string): string {
  try {
    return read(text)
  } catch (error) {
    if (error instanceof SettingError) throw new CommandError(`${option}: ${error.message}`)
    throw error
  }
}

/** Deletes the stored position of a forwarder or a named export that no longer runs. */
export function auditRemoveReader({ kind, name, ...args }: RemoveReaderArguments): Promise<number> {
  return withDatabase(args, async (database) => {
    const prefix = kind === 'export' ? EXPORT_NAME : ''
    if (!(await removePosition(database, prefix + name))) {
      const names = (await listReaders(database)).filter((each) => each.startsWith(EXPORT_NAME) === (kind === 'export'))
      const known = names.map((each) => each.slice(prefix.length)).join(', ')
      throw new CommandError(`--name: there is no ${kind} ${name}; stored are: ${known === '' ? 'none' : known}`)
    }
    process.stderr.write(`removed: ${kind} ${name}\n`)
    return 0
  })
}

/** A known reason why a command does nothing. */
class CommandError extends Error {
  override readonly name = 'CommandError'
}

async function withDatabase(args: CommandArguments, work: (database: Database) => Promise<number>): Promise<number> {
  const settings = await readOrReport(args, readAuditSettings)
  if (settings === undefined) return 1
  let database: Database | undefined
  try {
    database = openExistingDatabase(settings.databaseLocation)
    const found = await readSchemaVersion(database.read)
    if (found !== EXPECTED_SCHEMA_VERSION)
      throw new CommandError(
        `the database has schema version ${found}, this release knows ${EXPECTED_SCHEMA_VERSION}: start the authority of the newer one first`,
      )
    return await work(database)
  } catch (error) {
    const isKnown =
      error instanceof CommandError || error instanceof CursorUnknownError || error instanceof PackageMissingError
    if (!isKnown && translateDatabaseError(error) === undefined) throw error
    process.stderr.write(`chancery: ${isKnown ? error.message : 'the database cannot be read'}\n`)
    return 1
  } finally {
    await database?.close()
  }
}

function readAfter(text: string | undefined): AuditCursor {
  const cursor = text === undefined ? BEGINNING : readCursor(text)
  if (cursor === undefined) throw new CommandError('--after: is not a cursor; take one that an export ended with, or 0')
  return cursor
}

async function lineWriter(
  database: Database,
  { format = 'json', version = 'unknown' }: FormatArguments,
): Promise<LineWriter> {
  const origin = { service: 'authority', network: await networkName(database), version } as const
  return (event) => writeAuditLine(event, format, origin)
}

async function networkName(database: Database): Promise<string> {
  const row = await database.read.selectFrom('authority_identity').select('network_name').executeTakeFirst()
  return row?.network_name ?? ''
}
