import { randomUUID } from 'node:crypto'
import {
  asJson,
  boundaryDecisionForm,
  canonicalJson,
  chainEntry,
  contextDigest,
  decisionSubject,
  EMPTY_STORE,
  executionEvidenceForm,
  executionSubject,
  justificationForm,
  readEventLine,
  readReceived,
  recordDigest,
  signForm,
} from '@chancery/protocol'
import type {
  BoundaryDecision,
  ChainedEntry,
  ContextRecord,
  ExecutionEvidence,
  JustificationProof,
  Signer,
  StoreHead,
} from '@chancery/protocol'

/** A stored entry as the table has it. */
export interface MadeEntry extends ChainedEntry {
  readonly record_digest: string | null
}

/** Entries of a real authority for one decision and its execution. Every generated entry is a copy of one of them. */
export interface Sample {
  readonly decision: BoundaryDecision
  readonly context: ContextRecord
  readonly proof: JustificationProof
  readonly execution: ExecutionEvidence
}

/** Returns the first decision, its justification and its execution from exported lines. */
export function readSample(lines: readonly string[]): Sample {
  const payloads = lines.map((line) => readEventLine(line)?.payload)
  const [made, proof, execution] = payloads as unknown as [Sample, JustificationProof, ExecutionEvidence]
  return { decision: made.decision, context: made.context, proof, execution }
}

/**
 * Generates a chain of any length with valid digests, links and signatures: decision, justification, execution,
 * repeated with new ids and signatures. It makes ten thousand entries a second, much faster than an authority.
 */
export class EvidenceLines {
  readonly #sample: Sample
  readonly #authority: Signer
  readonly #executor: Signer
  #head: StoreHead

  constructor(sample: Sample, signers: { readonly authority: Signer; readonly executor: Signer }, head = EMPTY_STORE) {
    this.#sample = sample
    this.#authority = signers.authority
    this.#executor = signers.executor
    this.#head = head
  }

  /** Continues after another entry, because another writer has appended. */
  continueFrom(head: StoreHead): void {
    this.#head = head
  }

  /** Adds a decision without an execution. */
  async nextDecision(): Promise<{ readonly decision: BoundaryDecision; readonly entry: MadeEntry }> {
    const { decision, context } = this.#sample
    const ids = { decision_id: randomUUID(), context_id: randomUUID() }
    const made = { ...context, context_id: ids.context_id }
    const signed = await signForm(boundaryDecisionForm, bound({ ...decision, ...ids }, made), this.#authority)
    const subject = decisionSubject({ decision: signed, context: made })
    return { decision: signed, entry: this.#chain(subject, asJson({ decision: signed, context: made }), null) }
  }

  async nextThree(): Promise<readonly MadeEntry[]> {
    const { decision, context, proof, execution } = this.#sample
    const ids = { decision_id: randomUUID(), context_id: randomUUID() }
    const made = { ...context, context_id: ids.context_id }
    const signed = await signForm(boundaryDecisionForm, bound({ ...decision, ...ids }, made), this.#authority)
    const { decision_id } = ids
    const trace = { ...proof.trace, decision_id, trace_id: randomUUID() }
    const reasons = { ...proof, decision_id, proof_id: randomUUID(), trace }
    const { resource_id: _r, resource_action: _a, resource_sequence: _s, ...plain } = execution
    const done = { ...plain, ...ids, evidence_id: randomUUID() }
    const record = await signForm(executionEvidenceForm, done, this.#executor)
    const subject = decisionSubject({ decision: signed, context: made })
    const recorded = readReceived(executionEvidenceForm, asJson(record))
    return [
      this.#chain(subject, asJson({ decision: signed, context: made }), null),
      this.#chain(
        { ...subject, entry_kind: 'justification' },
        asJson(await signForm(justificationForm, reasons, this.#authority)),
        null,
      ),
      this.#chain(executionSubject(record, subject), asJson(record), recordDigest(recorded)),
    ]
  }

  #chain(
    subject: Parameters<typeof chainEntry>[1],
    payload: ReturnType<typeof asJson>,
    record_digest: string | null,
  ): MadeEntry {
    const { decision_made_at } = this.#sample.decision
    const chained = chainEntry(this.#head, subject, canonicalJson(payload), decision_made_at)
    this.#head = { store_sequence: chained.entry.store_sequence, entry_digest: chained.entry_digest }
    return { ...chained, record_digest }
  }
}

/** A decision contains the digest of its context, which has a new id here. */
function bound(decision: BoundaryDecision, context: ContextRecord): BoundaryDecision {
  const { policy_binding } = decision
  if (policy_binding === undefined) return decision
  return { ...decision, policy_binding: { ...policy_binding, context_digest: contextDigest(context) } }
}
