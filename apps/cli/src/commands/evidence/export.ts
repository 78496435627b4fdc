import { type FileHandle, open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { constants, createGzip, createZstdCompress } from 'node:zlib'
import { asJson, canonicalJson, detectRecordKind, fromUtf8, readEventLine, signList, visible } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { connect, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import { type Result, fields, plural, table, withProgress } from '../../output/screen.ts'
import { OWNER_ONLY, refuseExisting, toFailure, typed } from '../../files/files.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { findExportEnd, saveExecutorKeys, verifyCommand } from './verify-hint.ts'
import type { RejectedEvidence, ResourceHistory, VendorHistory } from '@chancery/sdk/authority'
import { readAll } from '../../connection/read-all.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import { loadSigner } from '../../files/keys.ts'
import { checkUsage } from '../data-usage/data-usage.ts'
import { continueArchive } from './retain.ts'

const COLUMNS = ['store_sequence', 'recorded_at', 'entry_kind', 'outcome', 'capability', 'decision_id'] as const

/** `evidence show --resource` and `--vendor`: entries in store order, with the report of the authority about them. */
export async function showHistory(context: CommandContext, options: Options): Promise<Result> {
  const resource = options.text('resource')
  const id = resource ?? options.text('vendor') ?? ''
  const connection = await connectAsOperator(context, options)
  const data = await connection.ask(({ evidence }): Promise<ResourceHistory | VendorHistory> =>
    resource !== undefined ? evidence.resources(id) : evidence.vendors(id),
  )
  const { verified: isGood, failures } = data.verification
  const rows = data.entries.map(({ entry }) => COLUMNS.map((name) => visible(String(entry[name] ?? '-'))))
  const lines = [
    rows.length === 0
      ? 'Retention removed every entry. The head is in --json.'
      : table(['SEQUENCE', 'RECORDED', 'KIND', 'OUTCOME', 'CAPABILITY', 'DECISION'], rows, context.style),
    ...(data.truncated ? ['Not complete: there are more entries than this answer has.'] : []),
    isGood
      ? `The authority found no failure in ${plural(rows.length, 'entry', 'entries')}. This command did not verify them.`
      : context.style.bad(`The authority found ${plural(failures.length, 'failure')}: see --json.`),
  ]
  const ids = data.entries.map(({ entry }) => String(entry.store_sequence))
  return { data: asJson(data), ids, text: lines.join('\n'), exitCode: isGood ? 0 : 1 }
}

const HEAD = ['REFUSED', 'CODE', 'COUNT', 'EXECUTOR', 'RESOURCE', 'DECISION', 'DIGEST']

/** `evidence list --kind rejection`. */
export async function listRejections(context: CommandContext, options: Options): Promise<Result> {
  const most = options.isSet('all') ? Number.POSITIVE_INFINITY : wholeNumberOrDefault(options, 'limit', 1, 1000)
  const connection = await connectAsOperator(context, options)
  const { rows, isCut } = await connection.ask((client) =>
    readAll(most, async (limit, cursor) => {
      const query = { limit: Math.min(limit, 100), ...(cursor === undefined ? {} : { cursor }) }
      const page = await client.evidence.rejected(query)
      return { rows: page.rejections, next: page.next_cursor }
    }),
  )
  const more = isCut ? '\nThere are more. Add --all or --limit.' : ''
  const text = rows.length === 0 ? 'No record was refused.' : `${table(HEAD, rows.map(toRow), context.style)}${more}`
  return {
    data: asJson({ count: rows.length, rejections: rows }),
    text,
    ids: rows.map(({ rejection_id }) => rejection_id),
  }
}

function toRow(row: RejectedEvidence): readonly string[] {
  const { rejected_at, code, count, executor_sovereign_id, resource_id, decision_id, submitted_digest } = row
  return [rejected_at, code, count, executor_sovereign_id, resource_id, decision_id, submitted_digest].map((value) =>
    String(value ?? '-'),
  )
}

/** Runs `evidence submit`. The file is sent unchanged: a dropped field would break the signature. */
export async function runEvidenceSubmit(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const file = args.required('file')
  const given = await loadJsonObject(context.cwd, file)
  if (detectRecordKind(given) === 'data-access-intent') return checkUsage(context, file, options, true)
  const record = await signIfAsked(context, options, given)
  const connection = await connect(context, options)
  const done = await connection.ask((client) => client.evidence.execution({ evidence: record }))
  const rows = fields(
    [
      ['entry', String(done.entry.store_sequence)],
      ['decision', visible(done.entry.decision_id ?? '-')],
      ['resource', visible(done.entry.resource_id ?? '-')],
      ['digest', visible(done.entry_digest)],
    ],
    context.style,
  )
  const title = done.status === 'duplicate' ? 'Stored before, unchanged:' : context.style.good('Stored:')
  return { data: asJson(done), ids: [String(done.entry.store_sequence)], text: `${title}\n${rows}` }
}

/** With --key: the record without signature, signed by the executor. */
async function signIfAsked(context: CommandContext, options: Options, record: JsonObject): Promise<JsonObject> {
  const file = options.text('key')
  if (file === undefined) return record
  if (Object.hasOwn(record, 'signatures') && canonicalJson(record['signatures'] ?? null) !== '[]')
    throw usageError('The record is signed already.', 'Submit it without --key.')
  const signer = await loadSigner(context, file, (noted) => noted)
  return asJson(await signList({ ...record, signatures: [] }, signer))
}

const LINE_FEED = 10

/** Higher levels take several times as long for a tenth less. */
const CODERS = {
  gzip: () => createGzip({ level: 2 }),
  zstd: () => createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } }),
}

/**
 * Runs `evidence export`: writes page after page into a file that only the owner can read, because it names members.
 */
export async function runEvidenceExport(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const named = options.text('out')
  if (options.isSet('archive')) {
    const unused = ['out', 'after', 'compress', 'resume'].find((name) => options.isSet(name))
    if (unused !== undefined) throw usageError(`Give --archive or --${unused}, not both.`)
    return continueArchive(context, options)
  }
  if (named === undefined) throw usageError('Give the new file with --out, or the folder of an archive with --archive.')
  const file = resolve(cwd, named)
  const compress = options.text('compress') as keyof typeof CODERS | undefined
  const isResumed = options.isSet('resume')
  if (isResumed && (compress !== undefined || options.isSet('after')))
    throw usageError(
      '--resume cannot be combined with --compress or --after.',
      'Only a file that is not compressed can be continued, and it states where.',
    )
  if (!isResumed) await refuseExisting([file])
  const connection = await connectAsOperator(context, options)
  const handle = await open(file, isResumed ? 'a+' : 'wx', OWNER_ONLY).catch((error: unknown) => {
    throw toFailure(error, file, 'written')
  })
  let count = 0
  let first: number | undefined
  try {
    const since = isResumed
      ? await cutUnfinished(handle, typed(cwd, file))
      : wholeNumberOrDefault(options, 'after', 0, Number.MAX_SAFE_INTEGER)
    await withProgress(context, 'Exporting', async (progress) => {
      async function* pages(): AsyncGenerator<Uint8Array> {
        const { evidence } = await connection.client()
        for await (const page of evidence.pages(since, { compressed: compress !== undefined })) {
          if (!isResumed) first ??= sequenceOfFirst(page.bytes)
          yield page.bytes
          count += page.entries
          progress.update(`Exported ${plural(count, 'entry', 'entries')}`)
        }
      }
      const write = async (chunks: AsyncIterable<Uint8Array>): Promise<void> => {
        for await (const chunk of chunks) await handle.appendFile(chunk)
      }
      await (compress === undefined ? write(pages()) : pipeline(pages(), CODERS[compress](), write))
    })
    await handle.sync()
  } finally {
    await handle.close()
  }
  const entries = `${count} ${isResumed ? 'more ' : ''}${count === 1 ? 'entry' : 'entries'}`
  const keys = await saveExecutorKeys(connection, file)
  const text = [
    `${style.good('Exported')} ${entries} to ${typed(cwd, file)}.`,
    // A part of the store verifies only with what connects its beginning.
    first === undefined || first === 1
      ? `Verify it: ${verifyCommand(context, options, { connection, file, keys })}`
      : `It begins with entry ${first}. Verify it together with the part before, or with the checkpoint of the retention.`,
  ].join('\n')
  return { data: { entries: count, file, executor_keys: keys ?? null }, text }
}

function sequenceOfFirst(bytes: Uint8Array): number | undefined {
  const end = bytes.indexOf(LINE_FEED)
  return readEventLine(fromUtf8(bytes.subarray(0, end)) ?? '')?.entry.store_sequence
}

/** Removes a line that was not written in full, and returns the sequence of the last one that was. */
async function cutUnfinished(handle: FileHandle, name: string): Promise<number> {
  const { bytes, sequence } = await findExportEnd(handle, name)
  await handle.truncate(bytes)
  return sequence
}
