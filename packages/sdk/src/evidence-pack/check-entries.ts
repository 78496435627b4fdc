import {
  StoreChecker,
  boundaryDecisionForm,
  contextRecordForm,
  executionEvidenceForm,
  isJsonObject,
  justificationForm,
  readEventLine,
  readReceived,
  signersOf,
  verifyJustification,
} from '@chancery/protocol'
import type {
  AuthorityKeys,
  BoundaryDecision,
  ContextRecord,
  ExecutionEvidence,
  GenesisBlock,
  JsonObject,
  JsonValue,
  JustificationProof,
  ReadEvent,
  Received,
  RecordForm,
} from '@chancery/protocol'
import { PASSED, failed, missing, worst } from './finding.ts'
import type { Finding } from './finding.ts'
import type { EvidencePack, PackExecutorKey } from './format.ts'

/** The decision of a pack, with its context and its entry. */
export interface PackDecision {
  readonly event: ReadEvent
  readonly record: BoundaryDecision
  readonly context: ContextRecord
  /** The context as it was stored: its digest is computed from this. */
  readonly contextWire: JsonObject
}

/** The entries of a pack as they were read; undefined for a line that is no entry. */
export interface PackEntries {
  readonly events: readonly (ReadEvent | undefined)[]
  readonly decision: PackDecision | undefined
  readonly justification: Received<JustificationProof> | undefined
  readonly executions: readonly ExecutionEvidence[]
}

/** Reads the entries; what is wrong with one, the checks find. */
export function readEntries({ entries }: Pick<EvidencePack, 'entries'>): PackEntries {
  const events = entries.map((line) => readEventLine(line))
  const ofKind = (kind: string): readonly ReadEvent[] =>
    events.filter((event) => event !== undefined && event.entry.entry_kind === kind) as readonly ReadEvent[]
  const [event, second] = ofKind('decision')
  const [proof] = ofKind('justification')
  return {
    events,
    decision: event === undefined || second !== undefined ? undefined : readDecision(event),
    justification: proof === undefined ? undefined : tryRead(justificationForm, proof.payload),
    executions: ofKind('execution').flatMap(({ payload }) => tryRead(executionEvidenceForm, payload)?.record ?? []),
  }
}

function readDecision(event: ReadEvent): PackDecision | undefined {
  const { payload } = event
  if (!isJsonObject(payload)) return undefined
  const record = tryRead(boundaryDecisionForm, payload['decision'] ?? null)?.record
  const context = tryRead(contextRecordForm, payload['context'] ?? null)
  if (record === undefined || context === undefined) return undefined
  return { event, record, context: context.record, contextWire: context.wire }
}

function tryRead<Value>(form: RecordForm<Value>, value: JsonValue): Received<Value> | undefined {
  try {
    return readReceived(form, value)
  } catch {
    // The check of the entries names what is wrong with it.
    return undefined
  }
}

interface Problem {
  /** Kind of the entry; `unknown_executor` for a signature by a key that the pack does not have. */
  readonly kind: string
  readonly text: string
}

/** What is wrong with the entries, by their kind. */
export type EntryProblems = ReadonlyMap<string, readonly Problem[]>

/**
 * Digests, links, envelopes, signatures and order of the entries. Each entry must belong to the decision: a genuine
 * entry of another decision proves nothing about this one.
 */
export async function findEntryProblems(
  pack: EvidencePack,
  authority: AuthorityKeys,
  { events, decision }: PackEntries,
): Promise<EntryProblems> {
  const known = new Map(pack.executor_keys.map((key) => [key.key_id, key]))
  const executor = (key_id: string): PackExecutorKey | undefined => known.get(key_id)
  const checker = new StoreChecker({ keys: { authority, executor }, scope: 'view' })
  for (const line of pack.entries) await checker.add(line)
  const { failures, warnings } = await checker.finish()
  const bySequence = new Map(events.map((event) => [event?.entry.store_sequence ?? null, event]))
  const found = [...failures, ...warnings].map(({ store_sequence, reason, detail }): Problem => {
    const event = bySequence.get(store_sequence)
    const signer = reason === 'invalid_signature' ? signerOf(event) : undefined
    if (signer !== undefined && !known.has(signer)) return { kind: 'unknown_executor', text: signer }
    return { kind: event?.entry.entry_kind ?? 'decision', text: `${reason}: ${detail}` }
  })
  return Map.groupBy([...found, ...findStrangers(events, decision)], ({ kind }) => kind)
}

/** The key that an execution says it was signed with. */
function signerOf(event: ReadEvent | undefined): string | undefined {
  if (event?.entry.entry_kind !== 'execution') return undefined
  return tryRead(executionEvidenceForm, event.payload)?.record.signature?.key_id
}

function findStrangers(
  events: readonly (ReadEvent | undefined)[],
  decision: PackDecision | undefined,
): readonly Problem[] {
  const problems: Problem[] = []
  const seen = new Set<string>()
  let last = 0
  for (const event of events) {
    if (event === undefined) {
      problems.push({ kind: 'decision', text: 'an entry cannot be read' })
      continue
    }
    const { entry_kind: kind, store_sequence, decision_id } = event.entry
    const isKnown = kind === 'decision' || kind === 'justification' || kind === 'execution'
    if (!isKnown) problems.push({ kind: 'decision', text: `entry_of_another_kind: ${kind}` })
    if (kind !== 'execution' && seen.has(kind)) problems.push({ kind, text: 'entry_doubled' })
    if (store_sequence <= last) problems.push({ kind, text: 'entries_not_in_order' })
    if (decision !== undefined && decision_id !== decision.record.decision_id)
      problems.push({ kind, text: 'entry_of_another_decision' })
    seen.add(kind)
    last = store_sequence
  }
  return problems
}

export function checkDecision(
  problems: EntryProblems,
  { network_name }: GenesisBlock,
  decision: PackDecision | undefined,
): Finding {
  const found = firstOf(problems, 'decision')
  if (found !== undefined) return failed(found)
  if (decision === undefined) return failed('no_decision')
  return decision.record.operator_sovereign_id === network_name ? PASSED : failed('other_network')
}

export async function checkJustification(
  problems: EntryProblems,
  keys: AuthorityKeys,
  { decision, justification }: PackEntries,
): Promise<Finding> {
  const found = firstOf(problems, 'justification')
  if (found !== undefined) return failed(found)
  if (justification === undefined) return missing('the pack has no justification')
  if (decision === undefined) return missing('the decision cannot be read')
  return verifyJustification(justification, signersOf(keys, justification.record), decision.record)
}

/** Every execution is signed by a key of the pack, and every key of the pack signed one. */
export function checkExecutions(
  problems: EntryProblems,
  { executor_keys }: EvidencePack,
  { executions }: PackEntries,
  pinned: ReadonlyMap<string, string> | undefined,
): Finding {
  const found = firstOf(problems, 'execution')
  const findings: Finding[] = found === undefined ? [] : [failed(found)]
  const [unknown] = problems.get('unknown_executor') ?? []
  if (unknown !== undefined) findings.push(missing(`the pack does not have the executor key ${unknown.text}`))
  const used = new Set(executions.map(({ signature }) => signature?.key_id))
  const ids = executor_keys.map(({ key_id }) => key_id)
  if (new Set(ids).size !== ids.length) findings.push(failed('executor_key_doubled'))
  const unused = ids.find((id) => !used.has(id))
  if (unused !== undefined) findings.push(failed(`executor_key_not_used: ${unused}`))
  for (const { key_id, public_key } of executor_keys)
    if (pinned !== undefined && pinned.get(key_id) !== public_key)
      findings.push(failed(`executor_key_unknown: ${key_id}`))
  return worst(findings)
}

function firstOf(problems: EntryProblems, kind: string): string | undefined {
  return problems.get(kind)?.[0]?.text
}
