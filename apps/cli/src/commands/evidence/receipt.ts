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
import type { Client, DecisionCountQuery, StoredDecisionCount } from '@chancery/sdk/authority'
import { verifyBundle, writeBundle as bundleText } from '@chancery/sdk/evidence'
import type { BundleForm } from '@chancery/sdk/evidence'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Connection, FOLLOW_HINT, connectAsOperator, genesisWord } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { FOR_ALL, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import { type Result, table } from '../../output/screen.ts'
import { proveEntry } from './show.ts'
import { type SeenCheckpoint, fetchCheckpoint, findLogTrust, treeOf } from './witnesses.ts'

interface Entry {
  readonly line: string
  readonly event: ReadEvent
  readonly leafHash: Uint8Array
}

/** Runs `evidence receipt`: verifies the receipt before it is written. */
export async function runEvidenceReceipt(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const id = args.required('decision')
  const form = options.textOrDefault('form')
  if (form === 'inclusion') return proveEntry(context, options, await sequenceOf(context, options, id))
  if (form === 'sigstore' || form === 'dsse') return writeBundle(context, options, id, form)
  const out = options.text('out')
  if (out === undefined) throw usageError('--out must be given.')
  const file = resolve(context.cwd, out)
  const lineFile = options.text('line')
  const files = [file, ...(lineFile === undefined ? [] : [resolve(context.cwd, lineFile)])]
  await refuseExisting(files)
  const connection = await connectAsOperator(context, options)
  const entry = await findEntry(connection, id)
  const { content, facts } =
    form === 'cose' ? await fetchCose(connection, id, entry) : await makeLogProof(connection, entry)
  await writeNewFile(file, content, FOR_ALL)
  if (files[1] !== undefined) await writeNewFile(files[1], `${entry.line}\n`, FOR_ALL)
  const name = typed(context.cwd, file)
  const data = { decision_id: id, form, file: name, entry_digest: entry.event.entryDigest, ...facts }
  const text = `${context.style.good('Written:')} ${name}, entry ${facts.leaf_index + 1} in a log of ${facts.tree_size}.\nA verifier runs chancery verify with ${form === 'cose' ? 'this file, its line and the genesis block' : 'this file and a policy of the log'}.`
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
      hint: 'Find decisions with: chancery evidence list',
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
    hint: 'Do not trust this log. Save its checkpoint, and compare a saved export with chancery verify.',
  })
}

/** The state of the store, for `status`. */
export async function evidenceRows(connection: Connection): Promise<{
  readonly status: Awaited<ReturnType<Client['evidence']['status']>>
  readonly rows: readonly (readonly [string, string])[]
}> {
  const status = await connection.ask((client) => client.evidence.status())
  const { latest_anchor: anchor, entries, unanchored_entries: open, rejections } = status
  const anchored = anchor === null ? 'no anchor' : `anchor ${anchor.anchor_sequence} at ${anchor.anchored_at}`
  const text = `${entries} entries, ${anchored}, ${open ?? 0} not anchored, ${rejections} rejected`
  return { status, rows: [['evidence', text]] }
}

/** Where the entry of a decision is; a number is the place itself. */
async function sequenceOf(context: CommandContext, options: Options, named: string): Promise<number> {
  if (/^[1-9]\d{0,15}$/.test(named)) return Number(named)
  const connection = await connectAsOperator(context, options)
  return (await findEntry(connection, named)).event.entry.store_sequence
}

const COLUMNS = ['hour', 'capability', 'policy', 'outcome'] as const

/** `evidence list --count-by`. */
export async function countDecisions(context: CommandContext, options: Options): Promise<Result> {
  const [since, until, by] = [options.text('since'), options.text('until'), options.list('count-by')]
  const split = by.filter((word) => word !== 'hour')
  const query: DecisionCountQuery = {
    by: by.includes('hour') ? 'hour' : 'range',
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

/** `evidence receipt` as a bundle: verifies the envelope with the genesis block before it is written. */
async function writeBundle(context: CommandContext, options: Options, id: string, form: BundleForm): Promise<Result> {
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
  const text = bundleText(envelope, form)
  if (file === undefined) return { data: asJson({ decision_id: id, form, envelope }), ids: [id], text: text.trimEnd() }
  await writeNewFile(file, text, FOR_ALL)
  const name = typed(context.cwd, file)
  return {
    data: { decision_id: id, form, file: name },
    ids: [id],
    text: [
      `${context.style.good('Written:')} ${name}.`,
      `A reader runs: chancery verify ${name} --genesis ${genesisWord(context.cwd, connection)}`,
    ].join('\n'),
  }
}
