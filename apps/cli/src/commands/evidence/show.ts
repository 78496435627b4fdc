import {
  FormError,
  asJson,
  boundaryDecisionForm,
  fromHex,
  hashLeaf,
  inclusionProof,
  readEventLine,
  readReceived,
  toBase64,
  verifyInclusion,
  verifyReceived,
  writeJson,
} from '@chancery/protocol'
import type { BoundaryDecision, Received } from '@chancery/protocol'
import type { DecisionGroup, EvidenceEvent, NewestFilter } from '@chancery/sdk/authority'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Connection, FOLLOW_HINT, connect, connectAsOperator, signersAt } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { type Result, plural, table } from '../../output/screen.ts'
import { decisionText } from '../boundary/describe.ts'
import { resolve } from 'node:path'
import { FOR_ALL, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import { fetchCheckpoint, treeOf } from './witnesses.ts'
import { wholeNumber, wholeNumberOrDefault } from '../../arguments/numbers.ts'

/** Runs `evidence show`: prints a decision and everything that is stored about it, with the signature verified. */
export async function runEvidenceShow(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const id = args.required('decision')
  const { style } = context
  const connection = await connectAsOperator(context, options)
  const { entries } = await connection.ask((client) => client.evidence.search({ decision_id: id, limit: 1000 }))
  const event = entries.find(({ entry }) => entry.entry_kind === 'decision')
  if (event === undefined) throw unknownDecision(id)
  const received = readDecision(event)
  // A valid signature of another decision proves nothing about this one.
  if (received.record.decision_id !== id || entries.some(({ entry }) => entry.decision_id !== id))
    throw new CommandError({
      code: 'invalid_record',
      message: `${connection.url} returned records of another decision.`,
      hint: CHANGED,
    })
  const signature = await checkSignature(connection, received)
  const rows = entries.map(({ entry }) => [
    String(entry.store_sequence),
    entry.recorded_at,
    entry.entry_kind,
    entry.outcome ?? '-',
    entry.resource_id ?? '-',
  ])
  const parts = [
    decisionText(received.record, style),
    `  signature: ${signature}`,
    '',
    table(['SEQUENCE', 'RECORDED', 'KIND', 'OUTCOME', 'RESOURCE'], rows, style),
    '',
    `Prove it to an auditor: ${context.again(`chancery evidence pack ${id} --out pack.json`)}`,
  ]
  return { data: asJson({ decision_id: id, signature, entries }), ids: [id], text: parts.join('\n') }
}

/** The entry contains the decision and the context that it was made for. */
function readDecision({ payload }: EvidenceEvent): Received<BoundaryDecision> {
  try {
    return readReceived(boundaryDecisionForm, payload['decision'] ?? payload)
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    const message = `The stored record is not a decision: ${error.message}.`
    throw new CommandError({ code: 'invalid_record', message, hint: CHANGED }, { cause: error })
  }
}

const CHANGED = `This is another network, or the record was changed. Do not use it. ${FOLLOW_HINT}`

async function checkSignature(connection: Connection, received: Received<BoundaryDecision>): Promise<string> {
  const keys = signersAt(connection, received.record)
  if (keys === undefined) return 'not checked: no genesis block is configured'
  if ((await verifyReceived(received, keys)).ok) return 'valid, by the authority of the configured genesis block'
  throw new CommandError({
    code: 'invalid_signature',
    message: `The decision from ${connection.url} is not signed by the authority of the configured genesis block.`,
    hint: CHANGED,
  })
}

function unknownDecision(id: string): CommandError {
  return new CommandError({
    code: 'decision_not_found',
    message: `The evidence store has no decision ${id}.`,
    hint: 'Find decisions with: chancery evidence search --kind decision. After retention, search in a saved export.',
  })
}

/** Runs `evidence prove`: verifies the proof before it is printed. */
export async function runEvidenceProve(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const sequence = readSequence(args.required('sequence'))
  const out = options.text('out')
  const file = out === undefined ? undefined : resolve(context.cwd, out)
  if (file !== undefined) await refuseExisting([file])
  const given = options.text('digest')
  const connection = await (given === undefined ? connectAsOperator : connect)(context, options)
  const digest = given ?? (await fetchDigest(connection, sequence))
  const leaf = fromHex(digest)
  if (leaf?.length !== 32) throw usageError('A digest is 64 hexadecimal digits.')
  const { note, origin, size, root } = await fetchCheckpoint(connection)
  if (sequence > size)
    throw new CommandError({
      code: 'not_in_log',
      message: `Entry ${sequence} is not covered yet: the log has ${plural(size, 'entry', 'entries')}.`,
      hint: 'A checkpoint follows within a second or two. Try again.',
    })
  const proof = await connection.ask((client) => inclusionProof(sequence - 1, size, treeOf(client, size)))
  const isIn = verifyInclusion({ index: sequence - 1, size, leafHash: hashLeaf(leaf), root, proof })
  if (!isIn)
    throw new CommandError({
      code: 'not_in_log',
      message: `The log does not contain this entry at sequence ${sequence}.`,
      hint: 'Either the digest is another one, or history was rewritten. Run: chancery evidence verify <export>',
    })
  const data = {
    origin,
    store_sequence: sequence,
    entry_digest: digest,
    tree_size: size,
    proof: proof.map(toBase64),
    checkpoint: note,
  }
  if (file !== undefined) await writeNewFile(file, `${writeJson(data)}\n`, FOR_ALL)
  const saved = file === undefined ? '' : ` Written to ${typed(context.cwd, file)}.`
  return {
    data,
    text: `${context.style.good('Proved:')} entry ${sequence} is in the log of ${plural(size, 'entry', 'entries')}.${saved}`,
  }
}

function readSequence(text: string): number {
  if (!/^[1-9]\d{0,15}$/.test(text)) throw usageError('A store sequence is a whole number of at least 1.')
  return Number(text)
}

/** Computes the digest of the entry, because a digest from the authority proves nothing. */
async function fetchDigest(connection: Connection, sequence: number): Promise<string> {
  const [line = ''] = await connection.ask((client) => client.evidence.lines(sequence - 1, 1))
  const event = readEventLine(line)
  if (event?.entry.store_sequence !== sequence)
    throw new CommandError({
      code: 'entry_not_found',
      message: `The store has no entry ${sequence}.`,
      hint: 'After retention, give --digest from a saved export.',
    })
  return event.entryDigest
}

const FLAGS = {
  requester: 'requester_sovereign_id',
  'failed-gate': 'failed_gate',
  vendor: 'vendor_id',
  capability: 'capability',
  outcome: 'outcome',
  since: 'since',
  until: 'until',
} as const

/** evidence decisions */
export async function runEvidenceDecisions(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const given = Object.entries(FLAGS).flatMap(([flag, name]) => {
    const value = options.text(flag)
    return value === undefined ? [] : [[name, value] as const]
  })
  const before = wholeNumber(options, 'before', 1, Number.MAX_SAFE_INTEGER)
  const filter: NewestFilter = {
    ...Object.fromEntries(given),
    ...(before === undefined ? {} : { before_sequence: before }),
    limit: wholeNumberOrDefault(options, 'limit', 1, 100),
  }
  const connection = await connectAsOperator(context, options)
  const page = await connection.ask((client) => client.evidence.decisions(filter))
  const more = page.next_before_sequence === null ? '' : `\nMore: add --before ${page.next_before_sequence}`
  const gap = page.complete ? '' : '\nNot complete: older decisions are still being indexed.'
  const head = ['SEQUENCE', 'RECORDED', 'OUTCOME', 'VENDOR', 'CAPABILITY', 'EXECUTIONS', 'DECISION']
  const rows = page.groups.map(toRow)
  const text = page.count === 0 ? `Nothing found.${gap}` : `${table(head, rows, context.style)}${more}${gap}`
  return { data: asJson(page), text, ids: page.groups.map(({ decision_id }) => decision_id) }
}

function toRow({ decision_id, executions, entries: [decision] }: DecisionGroup): readonly string[] {
  const entry = decision?.entry
  const { store_sequence, recorded_at, outcome, vendor_id, capability } = entry ?? {}
  return [store_sequence, recorded_at, outcome, vendor_id, capability, executions, decision_id].map((value) =>
    String(value ?? '-'),
  )
}
