import {
  StoreChecker,
  boundaryDecisionForm,
  compareCodePoints,
  contextRecordForm,
  executionEvidenceForm,
  isJsonObject,
  justificationForm,
  keysInPeriod,
  readEventLine,
  readReceived,
  receivedDigest,
  verifyJustification,
  verifyReceived,
} from '@chancery/protocol'
import type {
  AuthorityKeys,
  BoundaryDecision,
  ContextRecord,
  ExecutionEvidence,
  JsonObject,
  JsonValue,
  JustificationProof,
  ReadEvent,
  Received,
  RecordForm,
} from '@chancery/protocol'
import { type Finding, PASSED, type PackKeys, failed, missing, worst } from './report.ts'
import type { EvidencePack, PackExecutorKey } from './format.ts'

/** The decision of a pack, with its context and its entry. */
export interface PackDecision {
  readonly event: ReadEvent
  readonly record: BoundaryDecision
  readonly received: Received<BoundaryDecision>
  readonly context: ContextRecord
  /** The context as it was stored. */
  readonly contextWire: JsonObject
  readonly contextDigest: string
}

/** An execution of a pack, with its entry. */
export interface PackExecution {
  readonly event: ReadEvent
  readonly record: ExecutionEvidence
}

/** The entries of a pack as they were read; undefined for a line that is no entry. */
export interface PackEntries {
  readonly events: readonly (ReadEvent | undefined)[]
  readonly decision: PackDecision | undefined
  readonly justification: Received<JustificationProof> | undefined
  readonly executions: readonly PackExecution[]
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
    executions: ofKind('execution').flatMap((each) => {
      const found = tryRead(executionEvidenceForm, each.payload)
      return found === undefined ? [] : [{ event: each, record: found.record }]
    }),
  }
}

function readDecision(event: ReadEvent): PackDecision | undefined {
  const { payload } = event
  if (!isJsonObject(payload)) return undefined
  const received = tryRead(boundaryDecisionForm, payload['decision'] ?? null)
  const context = tryRead(contextRecordForm, payload['context'] ?? null)
  if (received === undefined || context === undefined) return undefined
  const { record: read, wire } = context
  return {
    event,
    record: received.record,
    received,
    context: read,
    contextWire: wire,
    contextDigest: receivedDigest(context),
  }
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

/** A finding about the entries as a whole: none of them is proven. */
export function toProblems(finding: Finding): EntryProblems {
  const text = 'ok' in finding && !finding.ok ? finding.reason : 'an entry cannot be read'
  return new Map(['decision', 'justification', 'execution'].map((kind) => [kind, [{ kind, text }]]))
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

/** The decision is signed by a key that the pack gives for its time. Otherwise the block of the pack was exchanged. */
export async function checkDecision(
  problems: EntryProblems,
  { keys, own }: Pick<PackKeys, 'keys' | 'own'>,
  decision: PackDecision | undefined,
): Promise<Finding> {
  const found = firstOf(problems, 'decision')
  if (found !== undefined) return failed(found)
  if (decision === undefined) return failed('no_decision')
  const { record, received } = decision
  if (record.operator_sovereign_id !== keys.genesis.network_name) return failed('other_network')
  const verdict = await verifyReceived(received, keysInPeriod(keys, record.decision_made_at))
  if (!verdict.ok || own === keys) return verdict
  const isOfBlock = (await verifyReceived(received, keysInPeriod(own, record.decision_made_at))).ok
  return isOfBlock ? PASSED : failed('other_genesis: no key of the block in the pack signed the decision')
}

/**
 * The request is the one that was decided. A decision under policies names its digest. A decision without them names only
 * ids, so the request is known only from an entry that is in the log of the authority.
 */
export function checkContext(decision: PackDecision | undefined, included: ReadonlySet<ReadEvent>): Finding {
  if (decision === undefined) return missing('the decision cannot be read')
  const { record, context, event } = decision
  const isNamed =
    context.context_id === record.context_id &&
    context.agreement_id === record.agreement_id &&
    context.requested_at === record.decision_made_at
  if (!isNamed) return failed('context_of_another_decision')
  if (record.policy_binding !== undefined)
    return record.policy_binding.context_digest === decision.contextDigest ? PASSED : failed('context_digest_mismatch')
  return included.has(event) ? PASSED : missing('context_not_bound: no signature and no proof of the log covers it')
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
  const { proof_issued_at } = justification.record
  return verifyJustification(justification, keysInPeriod(keys, proof_issued_at), decision.record)
}

/**
 * The executions that are proven, as store sequences: in the log of the authority, or signed by a trusted key. Anyone can
 * sign another one with a new key and put both into a pack.
 */
export function provenExecutions(
  problems: EntryProblems,
  { executor_keys }: EvidencePack,
  { executions }: PackEntries,
  trust: {
    readonly pinned: ReadonlyMap<string, string> | undefined
    readonly included: ReadonlySet<ReadEvent>
  },
): readonly number[] {
  if (problems.has('execution')) return []
  const trusted = new Set(
    executor_keys
      .filter(({ key_id, public_key }) => trust.pinned?.get(key_id) === public_key)
      .map(({ key_id }) => key_id),
  )
  return executions
    .filter(({ event, record }) => trust.included.has(event) || trusted.has(record.signature?.key_id ?? ''))
    .map(({ event }) => event.entry.store_sequence)
}

/** Every execution is signed by a key of the pack and proven, and every key of the pack signed one. */
export function checkExecutions(
  problems: EntryProblems,
  { executor_keys }: EvidencePack,
  { executions }: PackEntries,
  trust: { readonly pinned: ReadonlyMap<string, string> | undefined; readonly proven: readonly number[] },
): Finding {
  const { pinned, proven } = trust
  const found = firstOf(problems, 'execution')
  const findings: Finding[] = found === undefined ? [] : [failed(found)]
  const [unknown] = problems.get('unknown_executor') ?? []
  if (unknown !== undefined)
    findings.push(
      pinned === undefined
        ? missing(`the pack does not have the executor key ${unknown.text}`)
        : failed(`executor_key_unknown: ${unknown.text}`),
    )
  const open = executions.find(({ event }) => !proven.includes(event.entry.store_sequence))
  if (open !== undefined)
    findings.push(missing(`entry ${open.event.entry.store_sequence}: no proof of the log and no trusted executor key`))
  const used = new Set(executions.map(({ record }) => record.signature?.key_id))
  const ids = executor_keys.map(({ key_id }) => key_id)
  if (new Set(ids).size !== ids.length) findings.push(failed('executor_key_doubled'))
  else if (ids.join(' ') !== ids.toSorted(compareCodePoints).join(' '))
    findings.push(failed('executor_keys_not_in_order'))
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
