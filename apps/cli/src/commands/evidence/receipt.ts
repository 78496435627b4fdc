import { resolve } from 'node:path'
import {
  asJson,
  canonicalJson,
  fromHex,
  hashLeaf,
  inclusionProof,
  readEventLine,
  readReceipt,
  toUtf8,
  verifyInclusion,
  verifyReceipt,
  writeTlogProof,
} from '@chancery/protocol'
import type { ReadEvent } from '@chancery/protocol'
import { RefusedError } from '@chancery/sdk'
import type { DecisionCountQuery, StoredDecisionCount } from '@chancery/sdk/authority'
import { verifyBundle, writeBundle, type BundleForm } from '@chancery/sdk/evidence'
import { BUNDLE_FORMS } from '@chancery/sdk/internal'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Connection, FOLLOW_HINT, connectAsOperator, genesisWord } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { FOR_ALL, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import { type Result, fields, table } from '../../output/screen.ts'
import { type SeenCheckpoint, fetchCheckpoint, findLogTrust, treeOf } from './witnesses.ts'

interface Entry {
  readonly line: string
  readonly event: ReadEvent
  readonly leafHash: Uint8Array
}

/** Runs `evidence receipt`: verifies the receipt before it is written. */
export async function runEvidenceReceipt(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const id = args.required('decision')
  const file = resolve(context.cwd, options.required('out'))
  const lineFile = options.text('line')
  const files = [file, ...(lineFile === undefined ? [] : [resolve(context.cwd, lineFile)])]
  await refuseExisting(files)
  const connection = await connectAsOperator(context, options)
  const entry = await findEntry(connection, id)
  const form = options.textOrDefault('form')
  const { content, facts } =
    form === 'cose' ? await fetchCose(connection, id, entry) : await makeLogProof(connection, entry)
  await writeNewFile(file, content, FOR_ALL)
  if (files[1] !== undefined) await writeNewFile(files[1], `${entry.line}\n`, FOR_ALL)
  const name = typed(context.cwd, file)
  const data = { decision_id: id, form, file: name, entry_digest: entry.event.entryDigest, ...facts }
  const flags = form === 'cose' ? '--line <file> --genesis <file> --log-identity <file>' : '--policy <file>'
  const text = `${context.style.good('Written:')} ${name}, entry ${facts.leaf_index + 1} in a log of ${facts.tree_size}.\nA verifier runs: chancery verify receipt ${name} ${flags}`
  return { data, text, ids: [id] }
}

interface Made {
  readonly content: string | readonly Uint8Array[]
  readonly facts: { readonly origin: string; readonly leaf_index: number; readonly tree_size: number }
}

/** The line of the decision, read again: a digest from the authority proves nothing. */
async function findEntry(connection: Connection, id: string): Promise<Entry> {
  const { entries } = await connection.ask(({ evidence }) => evidence.search({ decision_id: id, limit: 1000 }))
  const sequence = entries.find(({ entry }) => entry.entry_kind === 'decision')?.entry.store_sequence
  const lines = sequence === undefined ? [] : await connection.ask(({ evidence }) => evidence.lines(sequence - 1, 1))
  const [line = ''] = lines
  const event = readEventLine(line)
  const digest = fromHex(event?.entryDigest ?? '')
  if (event === undefined || digest === undefined || event.entry.decision_id !== id)
    throw new CommandError({
      code: 'decision_not_found',
      message: `The evidence store has no decision ${id}.`,
      hint: 'Find decisions with: chancery evidence decisions',
    })
  return { line, event, leafHash: hashLeaf(digest) }
}

/** With the cosigned checkpoint if it covers the entry, otherwise with the last one. */
async function makeLogProof(connection: Connection, { event, leafHash }: Entry): Promise<Made> {
  const index = event.entry.store_sequence - 1
  const cosigned = await fetchCheckpoint(connection, true).catch((error: unknown) => {
    if (error instanceof RefusedError && error.status === 404) return undefined
    throw error
  })
  const log = cosigned !== undefined && cosigned.size > index ? cosigned : await fetchCheckpoint(connection)
  if (index >= log.size) throw notCovered(log.size, index + 1)
  const proof = await connection.ask((client) => inclusionProof(index, log.size, treeOf(client, log.size)))
  if (!verifyInclusion({ index, size: log.size, leafHash, root: log.root, proof })) throw notInLog(index + 1)
  const extra = toUtf8(canonicalJson(asJson(event.entry)))
  const content = writeTlogProof({ extra, index, proof, checkpoint: log.note })
  return { content, facts: factsOf(log, index) }
}

async function fetchCose(connection: Connection, id: string, { event, leafHash }: Entry): Promise<Made> {
  const { origin, keys } = await findLogTrust(connection)
  const bytes = await connection.ask(({ evidenceLog }) => evidenceLog.receipt(id))
  const receipt = readReceipt(bytes)
  const isOurs = receipt?.issuer === origin && receipt.index === event.entry.store_sequence - 1
  if (receipt === undefined || !isOurs) throw notInLog(event.entry.store_sequence)
  for (const key of keys)
    if (await verifyReceipt(receipt, leafHash, key))
      return { content: [bytes], facts: { origin, leaf_index: receipt.index, tree_size: receipt.size } }
  throw notInLog(event.entry.store_sequence)
}

function factsOf({ origin, size }: SeenCheckpoint, leaf_index: number): Made['facts'] {
  return { origin, leaf_index, tree_size: size }
}

function notCovered(size: number, sequence: number): CommandError {
  return new CommandError({
    code: 'not_in_log',
    message: `Entry ${sequence} is not covered yet: the log has ${size}.`,
    hint: 'A checkpoint follows within a second or two. Try again.',
  })
}

function notInLog(sequence: number): CommandError {
  return new CommandError({
    code: 'not_in_log',
    message: `The receipt does not prove entry ${sequence}. Nothing was written.`,
    hint: 'Do not trust this log. Save its checkpoint, and run: chancery evidence verify <export>',
  })
}

/** evidence status */
export async function runEvidenceStatus(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsOperator(context, options)
  const status = await connection.ask((client) => client.evidence.status())
  const { latest_anchor: anchor } = status
  const text = (value: number | null): string => String(value ?? '-')
  const rows: [string, string][] = [
    ['entries', text(status.entries)],
    ['last sequence', text(status.last_store_sequence)],
    ['rejected', text(status.rejections)],
    ['executor keys', text(status.active_executor_keys)],
    ['removed through', text(status.retention_checkpoint)],
    ['last anchor', anchor === null ? '-' : `${anchor.anchor_sequence} at ${anchor.anchored_at}`],
    ['not anchored', text(status.unanchored_entries)],
  ]
  return { data: status, text: fields(rows, context.style) }
}

const COLUMNS = ['hour', 'capability', 'policy', 'outcome'] as const

/** evidence count */
export async function runEvidenceCount(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const [since, until, split] = [options.text('since'), options.text('until'), options.list('split')]
  const query: DecisionCountQuery = {
    by: options.textOrDefault('by') === 'hour' ? 'hour' : 'range',
    // The authority refuses an empty value.
    ...(split.length === 0 ? {} : { split: split.join(',') }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  }
  const connection = await connectAsOperator(context, options)
  const answer = await connection.ask((client) => client.evidence.counts(query))
  const [first] = answer.counts
  const more = answer.complete
    ? ''
    : '\nNot complete: there are more names, or older decisions are still being counted.'
  if (first === undefined)
    return { data: asJson(answer), text: `0 decisions from ${answer.since} to ${answer.until}.${more}` }
  const shown = COLUMNS.filter((name) => first[name] !== null)
  const toRow = (count: StoredDecisionCount): readonly string[] => [
    ...shown.map((name) => count[name] ?? '-'),
    String(count.decisions),
  ]
  const head = [...shown, 'decisions'].map((name) => name.toUpperCase())
  return { data: asJson(answer), text: `${table(head, answer.counts.map(toRow), context.style)}${more}` }
}

/** Runs `evidence bundle`: verifies the envelope with the configured genesis block before it is written. */
export async function runEvidenceBundle(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const id = args.required('decision')
  const form = bundleForm(options)
  const out = options.text('out')
  const file = out === undefined ? undefined : resolve(context.cwd, out)
  if (file !== undefined) await refuseExisting([file])
  const connection = await connectAsOperator(context, options)
  const { genesis, followed, url } = connection
  const { envelope } = await connection.ask((client) => client.evidence.bundle({ decision_id: id }))
  // Without a configured genesis block nothing can be compared, and the connection says so.
  const keys = followed?.keys ?? (genesis === undefined ? undefined : { genesis })
  const verdict = keys === undefined ? undefined : await verifyBundle(envelope, keys)
  const problem = verdict?.valid === false ? verdict.reason : undefined
  const isOther = verdict?.valid === true && verdict.decision.decision_id !== id
  if (problem !== undefined || isOther)
    throw new CommandError({
      code: 'invalid_decision_bundle',
      message: `The bundle of ${url} does not verify: ${problem ?? 'it is of another decision'}. Nothing was written.`,
      hint: `This is another network, or a record was changed. ${FOLLOW_HINT}`,
    })
  const text = writeBundle(envelope, form)
  if (file === undefined) return { data: asJson({ decision_id: id, form, envelope }), ids: [id], text: text.trimEnd() }
  await writeNewFile(file, text, FOR_ALL)
  const name = typed(context.cwd, file)
  return {
    data: { decision_id: id, form, file: name },
    ids: [id],
    text: [
      `${context.style.good('Written:')} ${name}.`,
      `A reader runs: chancery verify bundle ${name} --genesis ${genesisWord(context.cwd, connection)}`,
    ].join('\n'),
  }
}

function bundleForm(options: Options): BundleForm {
  const given = options.textOrDefault('form')
  const form = BUNDLE_FORMS.find((each) => each === given)
  if (form === undefined) throw usageError(`--form: use one of ${BUNDLE_FORMS.join(', ')}.`)
  return form
}
