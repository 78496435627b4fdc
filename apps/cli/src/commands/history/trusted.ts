import { resolve } from 'node:path'
import {
  FormError,
  RECORD_SUBJECTS,
  asJson,
  hasOffset,
  readCrl,
  readInstant,
  readRevocationFeed,
  readSubject,
  subjectKindOf,
  visible,
  writeInstant,
  writeTrustHistoryPage,
} from '@chancery/protocol'
import type {
  Instant,
  JsonObject,
  RecordSubject,
  SavedLists,
  SubjectRecord,
  PastVerdict,
  TrustSubject,
} from '@chancery/protocol'
import type { PastAnswer } from '@chancery/sdk/authority'
import { verifyPast, type PackTrust } from '@chancery/sdk/evidence'
import { TrustHistoryError, verifyPastOfPack } from '@chancery/sdk/internal'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Connection, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { OWNER_ONLY, refuseExisting, writeNewFile } from '../../files/files.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import { type Result, type Style, table } from '../../output/screen.ts'
import { loadPackTrust } from '../verify/pack.ts'
import { writeHistory } from './archive.ts'
import { NOTE_WORDS, REASON_WORDS, STATE_WORDS, openHistoryFile } from './read-file.ts'

/** What is asked: the id, and the record where a file was given. */
interface Asked {
  readonly id: string
  readonly kind: RecordSubject | undefined
  readonly given: SubjectRecord | undefined
  readonly at: Instant
}

/** Runs `record history`. The answer of the authority is verdict here: only its signed records count. */
export async function runRecordHistory(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  if (options.isSet('all')) return writeHistory(context, options)
  const [named] = args.list('record')
  if (named === undefined || !options.isSet('at'))
    throw usageError('Name a record, and the past time with --at.', 'To write the whole history give --all and --out.')
  const asked = await readAsked(context, named, options)
  const file = options.text('offline')
  if (file !== undefined && options.isSet('out'))
    throw usageError('--out saves an answer of the authority.', 'Leave out --out, or --offline.')
  const verdict = await explained(() =>
    file === undefined ? verifyOnline(context, asked, options) : verifyOffline(context, asked, options, file),
  )
  return { data: asJson(verdict), text: toText(verdict, context.style), exitCode: EXIT_CODES[verdict.state] }
}

const FIRST_TIME = readInstant('2000-01-01T00:00:00Z') ?? 0n
const SAVED_LIMITS = { maxDepth: 64, maxValues: 5_000_000, maxNames: 200_000 }
const EXIT_CODES = { trusted: 0, not_trusted: 1, unknown: 3 } as const

async function readAsked(context: CommandContext, record: string, options: Options): Promise<Asked> {
  const text = options.required('at')
  const at = readInstant(text)
  if (at === undefined)
    throw usageError(`--at ${visible(text)}: this is not a time.`, 'For example 2026-07-01T12:00:00Z.')
  if (!hasOffset(text) || at < FIRST_TIME)
    throw usageError(`--at ${visible(text)}: give a time from the year 2000 on, with Z or an offset.`)
  const now = context.now()
  if (at > now) throw usageError(`--at ${visible(text)} is in the future.`, `The latest time is ${writeInstant(now)}.`)
  const kind = RECORD_SUBJECTS.find((each) => each === options.text('kind'))
  if (!record.endsWith('.json')) return { id: record, kind, given: undefined, at }
  const given = readGiven(await loadJsonObject(context.cwd, record), record)
  if (kind !== undefined && kind !== given.kind)
    throw usageError(`${visible(record)} is not a record of --kind ${kind}.`)
  return { id: given.id, kind: given.kind, given, at }
}

/** A record, or the response of a route that contains it. */
function readGiven(value: JsonObject, file: string): SubjectRecord {
  const isRecord = subjectKindOf(value) !== undefined
  const [inner, second] = isRecord ? [] : Object.values(value).filter((each) => subjectKindOf(each) !== undefined)
  if (second !== undefined)
    throw new CommandError({
      code: 'invalid_record',
      message: `${file} has more than one such record.`,
      hint: 'Give a file with the record that you ask for alone.',
    })
  const record = inner ?? value
  const kind = subjectKindOf(record)
  const hint = 'Give a certificate, an attestation or a treaty, as its issuer wrote it.'
  if (kind === undefined)
    throw new CommandError({ code: 'invalid_record', message: `${file} has no such record.`, hint })
  try {
    return readSubject(kind, record)
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    const message = `${file} is not a ${kind}: ${error.message}.`
    throw new CommandError({ code: 'invalid_record', message, hint }, { cause: error })
  }
}

async function verifyOnline(context: CommandContext, asked: Asked, options: Options): Promise<PastVerdict> {
  const out = options.text('out')
  const file = out === undefined ? undefined : resolve(context.cwd, out)
  if (file !== undefined) await refuseExisting([file])
  const connection = await connectAsOperator(context, options)
  const trust = await trustOf(context, options, connection)
  const saved = await loadSaved(context, options)
  const { id, kind, given, at } = asked
  const answer = await connection.ask((client) =>
    client.history.trusted({
      id,
      at: writeInstant(at),
      ...(kind === undefined ? {} : { kind }),
      ...(given === undefined ? {} : { issuer_sovereign_id: given.issuer }),
    }),
  )
  const subject: TrustSubject = { id, kind: kind ?? answer.kind, given }
  const verdict = await verifyPast(subject, [answer.page], { at, trust, saved })
  if (file !== undefined) await writeNewFile(file, writeTrustHistoryPage(answer.page), OWNER_ONLY)
  if (given === undefined && saved === undefined) noteOther(context, answer, verdict)
  return verdict
}

/** The same rule gives the same state, so another one means a changed answer or another release. */
function noteOther({ note }: CommandContext, answer: PastAnswer, verdict: PastVerdict): void {
  if (answer.state !== verdict.state)
    note(`the authority says ${visible(answer.state)}, but its signed records do not prove that`)
}

async function verifyOffline(
  context: CommandContext,
  asked: Asked,
  options: Options,
  file: string,
): Promise<PastVerdict> {
  const trust = await loadPackTrust(context, options)
  if (trust.genesis === undefined)
    throw usageError(
      '--offline needs --genesis.',
      'Give the genesis block of the network, from another source than the file.',
    )
  const { id, given, at } = asked
  const kind = asked.kind ?? given?.kind
  if (kind === undefined) throw usageError('--offline with an id needs --kind.', 'certificate, attestation or treaty.')
  const subject: TrustSubject = { id, kind, given }
  const opened = await openHistoryFile(resolve(context.cwd, file))
  const saved = await loadSaved(context, options)
  if (!('pack' in opened)) return verifyPast(subject, opened.pages, { at, trust, saved })
  if (saved !== undefined)
    throw usageError('--list and --feed do not belong to an evidence pack.', 'Give a saved answer or an archive.')
  return verifyPastOfPack(subject, opened.pack, { at, trust })
}

/** The lists of --list and the feeds of --feed. Undefined without any. */
async function loadSaved({ cwd }: CommandContext, options: Options): Promise<SavedLists | undefined> {
  const load = <Value>(name: 'list' | 'feed', read: (value: JsonObject) => Value): Promise<readonly Value[]> =>
    Promise.all(
      options.list(name).map(async (file) => {
        const value = await loadJsonObject(cwd, file, SAVED_LIMITS)
        try {
          return read(value)
        } catch (error) {
          if (!(error instanceof FormError)) throw error
          const message = `${visible(file)} is not a revocation ${name}: ${error.message}.`
          const hint = `Give the ${name} as its issuer published it.`
          throw new CommandError({ code: 'invalid_record', message, hint }, { cause: error })
        }
      }),
    )
  const [lists, feeds] = [await load('list', readCrl), await load('feed', readRevocationFeed)]
  return lists.length + feeds.length === 0 ? undefined : { lists, feeds }
}

/** --genesis, or the configured block with the keys that were followed from it. */
async function trustOf(context: CommandContext, options: Options, connection: Connection): Promise<PackTrust> {
  if (options.isSet('genesis')) return loadPackTrust(context, options)
  const { genesis, history } = connection.followed?.keys ?? { genesis: connection.genesis }
  if (genesis === undefined)
    throw usageError(
      'No genesis block is configured.',
      'Give --genesis <file>: without a trusted root key nothing is proven.',
    )
  return history === undefined ? { genesis } : { genesis, keyHistory: history }
}

async function explained<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof TrustHistoryError)) throw error
    const hint = 'Check that the file is complete, and that --genesis is the block of its network.'
    throw new CommandError({ code: 'invalid_trust_history', message: error.message, hint }, { cause: error })
  }
}

function toText(verdict: PastVerdict, style: Style): string {
  const words = STATE_WORDS[verdict.state]
  const title = { trusted: style.good(words), not_trusted: style.bad(words), unknown: style.warn(words) }[verdict.state]
  const { source, ended_at, end_reason } = verdict
  const by =
    source === null
      ? ''
      : ` by ${source.kind.replace('_', ' ')}${source.sequence === null ? '' : ` ${source.sequence}`}`
  const verb = verdict.reason === 'superseded' ? 'Replaced' : 'Revoked'
  const cause = end_reason === null ? '' : ` (${visible(end_reason)})`
  const rows = verdict.proof.map(({ kind, id, sequence, issued_at, public_key }) => [
    kind,
    visible(id),
    sequence === null ? '-' : String(sequence),
    visible(issued_at),
    public_key,
  ])
  return [
    `${title} at ${verdict.at}: ${verdict.kind} ${visible(verdict.id)}`,
    `  ${REASON_WORDS[verdict.reason]}`,
    ...(ended_at === null ? [] : [`  ${verb} at ${visible(ended_at)}${cause}${by}.`]),
    ...(verdict.treaty_id === null ? [] : [`  Under treaty ${visible(verdict.treaty_id)}.`]),
    ...verdict.notes.map((note) => `  ${NOTE_WORDS[note]}`),
    ...(rows.length === 0 ? [] : ['', table(['PROOF', 'ID', 'NUMBER', 'SIGNED AT', 'KEY'], rows, style)]),
  ].join('\n')
}
