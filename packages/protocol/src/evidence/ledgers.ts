import type { EntrySubject } from '../artifacts/evidence-store-entry.ts'
import type { ResourceHead } from '../artifacts/retention-checkpoint.ts'

/** What executions are measured against. */
export interface StoredDecision {
  readonly authorized: boolean
  readonly agreement_id: string
  readonly decision_made_at: string
  readonly decision_valid_until: string
  readonly subject: EntrySubject
}

export interface ChainPosition {
  readonly sequence: number
  readonly digest: string | null
}

/**
 * Every decision of a run, packed: a run may hold millions, and a text cut out of a line would keep the whole line in
 * memory.
 */
export class DecisionLedger {
  readonly #facts = new Map<string, string>()
  readonly #positions = new Map<string, string>()

  remember(facts: StoredDecision): void {
    const { subject } = facts
    const packed = JSON.stringify([
      facts.authorized,
      facts.agreement_id,
      facts.decision_made_at,
      facts.decision_valid_until,
      subject.context_id,
      subject.vendor_id,
      subject.attestation_id,
      subject.capability,
    ])
    this.#facts.set(copyText(subject.decision_id ?? ''), packed)
  }

  find(decision_id: string): StoredDecision | undefined {
    const packed = this.#facts.get(decision_id)
    return packed === undefined ? undefined : unpack(decision_id, packed)
  }

  /** The last execution of a decision in this run. */
  position(decision_id: string): ChainPosition | undefined {
    return readPosition(this.#positions.get(decision_id))
  }

  advance(decision_id: string, sequence: number, digest: string): void {
    this.#positions.set(copyText(decision_id), JSON.stringify([sequence, digest]))
  }
}

/** The last record of every resource in a run, beginning with those a checkpoint names. */
export class ResourceLedger {
  readonly #heads = new Map<string, string>()

  constructor(heads: { readonly [resource_id: string]: ResourceHead } = {}) {
    for (const [id, { resource_sequence, record_digest }] of Object.entries(heads))
      this.advance(id, resource_sequence, record_digest)
  }

  position(resource_id: string): ChainPosition | undefined {
    return readPosition(this.#heads.get(resource_id))
  }

  advance(resource_id: string, sequence: number, digest: string): void {
    this.#heads.set(copyText(resource_id), JSON.stringify([sequence, digest]))
  }
}

function unpack(decision_id: string, packed: string): StoredDecision {
  const [authorized, agreement_id, made, until, context_id, vendor_id, attestation_id, capability] = JSON.parse(
    packed,
  ) as [boolean, string, string, string, string | null, string | null, string | null, string | null]
  return {
    authorized,
    agreement_id,
    decision_made_at: made,
    decision_valid_until: until,
    subject: {
      entry_kind: 'decision',
      decision_id,
      context_id,
      vendor_id,
      attestation_id,
      capability,
      outcome: authorized ? 'authorized' : 'denied',
      evidence_id: null,
      executor_sovereign_id: null,
      exec_sequence_no: null,
      resource_id: null,
      resource_action: null,
      resource_sequence: null,
    },
  }
}

function readPosition(packed: string | undefined): ChainPosition | undefined {
  if (packed === undefined) return undefined
  const [sequence, digest] = JSON.parse(packed) as [number, string]
  return { sequence, digest }
}

/** A text of its own, whatever larger one it was cut from. */
function copyText(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string
}
