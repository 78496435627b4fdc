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
import type { Client, DecisionGroup, EvidenceEvent, NewestFilter } from '@chancery/sdk/authority'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Connection, FOLLOW_HINT, connect, connectAsOperator, signersAt } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { type Result, plural, table } from '../../output/screen.ts'
import { decisionText } from '../boundary/describe.ts'
import { resolve } from 'node:path'
import { FOR_ALL, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import { fetchCheckpoint, treeOf } from './witnesses.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import { showHistory } from './export.ts'

/** Runs `evidence show`: prints a decision and everything that is stored about it, with the signature verified. */
export async function runEvidenceShow(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const [id] = args.list('decision')
  const [resource, vendor] = [options.text('resource'), options.text('vendor')]
  if ([id, resource, vendor].filter((each) => each !== undefined).length !== 1)
    throw usageError('Name a decision, or give --resource or --vendor.')
  if (id === undefined) return showHistory(context, options)
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
    hint: 'Find decisions with: chancery evidence list. After retention, search in a saved export.',
  })
}

/** `evidence receipt --form inclusion`: verifies the proof before it is printed. */
export async function proveEntry(context: CommandContext, options: Options, sequence: number): Promise<Result> {
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
      hint: 'Either the digest is another one, or history was rewritten. Compare a saved export with chancery verify.',
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

type DecisionPage = Awaited<ReturnType<Client['evidence']['decisions']>>

const FLAGS = {
  requester: 'requester_sovereign_id',
  'failed-gate': 'failed_gate',
  vendor: 'vendor_id',
  capability: 'capability',
  since: 'since',
  until: 'until',
} as const

/** The words of people are allowed and denied; the signed records say authorized. */
export function outcomeOf(options: Options): 'authorized' | 'denied' | undefined {
  const word = options.text('outcome')
  return word === 'allowed' ? 'authorized' : word === 'denied' ? word : undefined
}

/** Decisions, newest first. */
export async function listDecisions(context: CommandContext, options: Options): Promise<Result> {
  const given = Object.entries(FLAGS).flatMap(([flag, name]) => {
    const value = options.text(flag)
    return value === undefined ? [] : [[name, value] as const]
  })
  const outcome = outcomeOf(options)
  const most = options.isSet('all') ? Number.POSITIVE_INFINITY : wholeNumberOrDefault(options, 'limit', 1, 1000)
  const filter: NewestFilter = { ...Object.fromEntries(given), ...(outcome === undefined ? {} : { outcome }) }
  const connection = await connectAsOperator(context, options)
  const groups: DecisionGroup[] = []
  let [before, complete]: [number | undefined, boolean] = [undefined, true]
  let isCut = false
  for (;;) {
    const bounds: NewestFilter = {
      limit: Math.min(100, most - groups.length),
      ...(before === undefined ? {} : { before_sequence: before }),
    }
    const page: DecisionPage = await connection.ask((client) => client.evidence.decisions({ ...filter, ...bounds }))
    groups.push(...page.groups)
    complete &&= page.complete
    before = page.next_before_sequence ?? undefined
    isCut = before !== undefined
    if (!isCut || groups.length >= most) break
  }
  const more = isCut ? '\nThere are more. Add --all or --limit.' : ''
  const gap = complete ? '' : '\nNot complete: older decisions are still being indexed.'
  const head = ['SEQUENCE', 'RECORDED', 'OUTCOME', 'VENDOR', 'CAPABILITY', 'EXECUTIONS', 'DECISION']
  const text =
    groups.length === 0 ? `Nothing found.${gap}` : `${table(head, groups.map(toRow), context.style)}${more}${gap}`
  const data = asJson({ count: groups.length, groups, next_before_sequence: before ?? null, complete })
  return { data, text, ids: groups.map(({ decision_id }) => decision_id) }
}

function toRow({ decision_id, executions, entries: [decision] }: DecisionGroup): readonly string[] {
  const entry = decision?.entry
  const { store_sequence, recorded_at, outcome, vendor_id, capability } = entry ?? {}
  const said = outcome === 'authorized' ? 'allowed' : outcome
  return [store_sequence, recorded_at, said, vendor_id, capability, executions, decision_id].map((value) =>
    String(value ?? '-'),
  )
}
