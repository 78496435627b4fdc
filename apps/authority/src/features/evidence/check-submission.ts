import type { RefusalCode } from '@chancery/contract'
import {
  FormError,
  checkResourceMembers,
  executionEvidenceForm,
  hasSecretMaterial,
  isInsideDecisionWindow,
  readEventLine,
  readReceived,
  receivedBytes,
  submissionDigest,
  verifySignature,
} from '@chancery/protocol'
import type {
  BoundaryDecision,
  ChainedEntry,
  ContextRecord,
  EvidenceStoreEntry,
  ExecutionEvidence,
  Received,
} from '@chancery/protocol'
import type { Transaction } from '../../database/database.ts'
import type { EvidenceHeadRow } from './queries/chain.ts'
import type { DecisionState, NamedIds, NamedState, ResourceState } from './queries/lookups.ts'

/** The result of verifying a signature with one public key. */
export interface SignatureCheck {
  readonly key: string
  readonly isGood: boolean
}

/** A submission with its form read and, if its key was cached, its signature verified. */
export interface Submission {
  readonly received: Received<ExecutionEvidence>
  /** The digest to which later records link. */
  readonly digest: string
  readonly verdict: SignatureCheck | undefined
}

export type Admission =
  | { readonly kind: 'admitted'; readonly decision: EvidenceStoreEntry }
  | ({ readonly kind: 'duplicate' } & StoredEntry)
  | {
      readonly kind: 'refused'
      readonly code: RefusalCode
      /** Rows 6 to 8 passed: the signer is verified. */
      readonly executor?: { readonly decision: EvidenceStoreEntry | undefined }
    }

type StoredEntry = Pick<ChainedEntry, 'entry' | 'entry_digest'>

interface StoredSubmission extends StoredEntry {
  readonly received: Received<ExecutionEvidence>
}

interface ChainEnd {
  readonly sequence: number
  readonly digest: string | null
}

/** What has to be read for a batch of submissions, each id once. */
export function namedIds(batch: readonly Submission[]): NamedIds {
  const [evidence, decisions, resources, keys] = [
    new Set<string>(),
    new Set<string>(),
    new Set<string>(),
    new Set<string>(),
  ]
  for (const { received } of batch) {
    const { evidence_id, decision_id, resource_id, signature } = received.record
    evidence.add(evidence_id)
    decisions.add(decision_id)
    if (resource_id !== undefined) resources.add(resource_id)
    if (signature !== null) keys.add(signature.key_id)
  }
  return { evidence: [...evidence], decisions: [...decisions], resources: [...resources], keys: [...keys] }
}

/** The state for checking a batch of submissions: the locked store, and the earlier items of this batch. */
export class SubmissionChecker {
  readonly #evidence = new Map<string, StoredSubmission>()
  readonly #decisions: ReadonlyMap<string, DecisionState>
  readonly #resources: ReadonlyMap<string, ResourceState>
  readonly #keys: ReadonlyMap<string, NamedState['keys'][number]>
  readonly #decisionEnds = new Map<string, ChainEnd>()
  readonly #resourceEnds = new Map<string, ChainEnd>()

  private constructor({ evidence, decisions, resources, keys }: NamedState) {
    for (const { evidence_id, line } of evidence) this.#evidence.set(evidence_id, readStoredEvidence(line))
    this.#decisions = new Map(decisions.map((state) => [state.id, state]))
    this.#resources = new Map(resources.map((state) => [state.id, state]))
    this.#keys = new Map(keys.map((key) => [key.key_id, key]))
  }

  /** `state` was read under the lock. */
  static async open(tx: Transaction, head: EvidenceHeadRow, state: NamedState): Promise<SubmissionChecker> {
    const removed = state.evidence.filter((row) => row.store_sequence <= head.removed_through)
    // Before the boundary and not deleted yet: it no longer counts, and a new record may use its id.
    for (const { store_sequence } of removed)
      await tx.query.deleteFrom('evidence_entries').where('store_sequence', '=', store_sequence).execute()
    return new SubmissionChecker({ ...state, evidence: state.evidence.filter((row) => !removed.includes(row)) })
  }

  /** protocol/trust-operations 6.5, rows 3 to 20, in this order. The first failure decides. */
  async check(submission: Submission): Promise<Admission> {
    const { record } = submission.received
    const stored = this.#evidence.get(record.evidence_id)
    if (stored !== undefined)
      return submissionDigest(stored.received) === submissionDigest(submission.received)
        ? { kind: 'duplicate', ...stored }
        : refused('evidence_conflict')
    const found = this.#decision(record.decision_id)
    const unknownSigner = checkMembers(record) ?? (await this.#checkExecutor(submission))
    if (unknownSigner !== undefined) return refused(unknownSigner)
    const code =
      checkDecision(record, found) ??
      this.#checkDecisionChain(record) ??
      this.#checkResourceChain(record) ??
      (hasSecretMaterial(record.execution_parameters, record.outcome_detail) ? 'evidence_secret_material' : undefined)
    if (code !== undefined || found === undefined)
      return { ...refused(code ?? 'evidence_decision_not_found'), executor: { decision: found?.entry } }
    return { kind: 'admitted', decision: found.entry }
  }

  /** An admitted record counts for all later checks. */
  admit({ received, digest }: Submission, { entry, entry_digest }: StoredEntry): void {
    const { record } = received
    this.#evidence.set(record.evidence_id, { entry, entry_digest, received })
    this.#decisionEnds.set(record.decision_id, { sequence: record.sequence_no, digest })
    if (record.resource_id !== undefined)
      this.#resourceEnds.set(record.resource_id, { sequence: record.resource_sequence ?? 0, digest })
  }

  #decision(decision_id: string): StoredDecisionEntry | undefined {
    const state = this.#decisions.get(decision_id)
    return state === undefined ? undefined : readStoredDecision(state.line)
  }

  /** Rows 6 to 8: signed with a key that may sign for this executor now. */
  async #checkExecutor({ received, verdict }: Submission): Promise<RefusalCode | undefined> {
    const { signature, executor_sovereign_id } = received.record
    if (signature === null) return 'evidence_invalid_signature'
    const key = this.#keys.get(signature.key_id)
    if (key === undefined || key.retired_at !== null || key.executor_sovereign_id !== executor_sovereign_id)
      return 'evidence_unknown_executor'
    // Verified before the lock except in one case: the key was registered in between.
    const isGood =
      verdict?.key === key.public_key
        ? verdict.isGood
        : await verifySignature(key.public_key, receivedBytes(received), signature.sig)
    return isGood ? undefined : 'evidence_invalid_signature'
  }

  #checkDecisionChain(record: ExecutionEvidence): RefusalCode | undefined {
    const state = this.#decisions.get(record.decision_id)
    const end = this.#decisionEnds.get(record.decision_id) ?? {
      sequence: state?.last_no ?? 0,
      digest: state?.last_digest ?? null,
    }
    if (record.sequence_no > end.sequence + 1) return 'evidence_chain_gap'
    if (record.sequence_no <= end.sequence) return 'evidence_conflict'
    return record.prev_evidence_digest === end.digest ? undefined : 'evidence_chain_mismatch'
  }

  #checkResourceChain(record: ExecutionEvidence): RefusalCode | undefined {
    if (record.resource_id === undefined || record.resource_sequence === undefined) return undefined
    const state = this.#resources.get(record.resource_id)
    const end = this.#resourceEnds.get(record.resource_id) ?? {
      sequence: state?.resource_sequence ?? 0,
      digest: state?.record_digest ?? null,
    }
    if (record.resource_sequence > end.sequence + 1) return 'resource_chain_gap'
    if (record.resource_sequence <= end.sequence) return 'evidence_conflict'
    return (record.prev_resource_digest ?? null) === end.digest ? undefined : 'resource_chain_mismatch'
  }
}

interface StoredDecisionEntry {
  readonly entry: EvidenceStoreEntry
  readonly decision: BoundaryDecision
  readonly context: ContextRecord
}

/**
 * A decision as this authority stored it. The line is its own, so its form is not checked again, and the members that
 * are compared are texts and truth values, which every reader reads alike.
 */
function readStoredDecision(line: string): StoredDecisionEntry | undefined {
  let event: { readonly entry?: EvidenceStoreEntry; readonly payload?: Partial<Omit<StoredDecisionEntry, 'entry'>> }
  try {
    event = JSON.parse(line) as typeof event
  } catch {
    return undefined
  }
  const { entry, payload: { decision, context } = {} } = event
  return entry === undefined || decision === undefined || context === undefined
    ? undefined
    : { entry, decision, context }
}

/** A stored submission, parsed from its line. If it cannot be read, nothing is called a duplicate of it. */
function readStoredEvidence(line: string): StoredSubmission {
  const event = readEventLine(line)
  if (event === undefined) throw new Error('cannot read a stored execution')
  const received = readReceived(executionEvidenceForm, event.payload)
  return { entry: event.entry, entry_digest: event.entryDigest, received }
}

function checkMembers(record: ExecutionEvidence): RefusalCode | undefined {
  try {
    checkResourceMembers(record)
    return undefined
  } catch (error) {
    if (error instanceof FormError) return 'evidence_malformed'
    throw error
  }
}

/** Rows 9 to 13. */
function checkDecision(record: ExecutionEvidence, found: StoredDecisionEntry | undefined): RefusalCode | undefined {
  if (found === undefined) return 'evidence_decision_not_found'
  const { decision, context } = found
  if (!decision.authorized) return 'evidence_decision_denied'
  if (record.context_id !== decision.context_id || record.agreement_id !== decision.agreement_id)
    return 'evidence_decision_mismatch'
  if (!isInsideDecisionWindow(record.executed_at, decision)) return 'evidence_outside_decision_window'
  return record.executed_capability === context.requested_capability ? undefined : 'evidence_capability_mismatch'
}

function refused(code: RefusalCode): Admission & { kind: 'refused' } {
  return { kind: 'refused', code }
}
