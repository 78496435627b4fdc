import { canonicalJson } from '../canonical/canonical-json.ts'
import { sha256Hex } from '../canonical/digest.ts'
import { asJson } from '../signing/forms.ts'
import type { EntrySubject, EvidenceStoreEntry } from '../artifacts/evidence-store-entry.ts'

export const EVENT_SCHEMA = 'gm.evidence.event'
export const EVENT_SCHEMA_VERSION = 1

/** Where the chain ends: the next entry names this digest. */
export interface StoreHead {
  readonly store_sequence: number
  readonly entry_digest: string | null
}

export const EMPTY_STORE: StoreHead = { store_sequence: 0, entry_digest: null }

/** One entry in its place, with the very line that is stored, exported and served. */
export interface ChainedEntry {
  readonly entry: EvidenceStoreEntry
  readonly entry_digest: string
  readonly line: string
}

/** An entry as chainEntry() makes it, with its own canonical text, which answers repeat. */
export interface LinkedEntry extends ChainedEntry {
  readonly entryText: string
}

/** Puts a record behind the head. `payload` is its canonical text, so that nothing is spelled twice. */
export function chainEntry(head: StoreHead, subject: EntrySubject, payload: string, recorded_at: string): LinkedEntry {
  // In the order of C, so that the platform's own writer can spell it.
  const entry: EvidenceStoreEntry = {
    attestation_id: subject.attestation_id,
    capability: subject.capability,
    context_id: subject.context_id,
    decision_id: subject.decision_id,
    entry_kind: subject.entry_kind,
    evidence_id: subject.evidence_id,
    exec_sequence_no: subject.exec_sequence_no,
    executor_sovereign_id: subject.executor_sovereign_id,
    outcome: subject.outcome,
    payload_digest: sha256Hex(payload),
    prev_entry_digest: head.entry_digest,
    recorded_at,
    resource_action: subject.resource_action,
    resource_id: subject.resource_id,
    resource_sequence: subject.resource_sequence,
    store_sequence: head.store_sequence + 1,
    vendor_id: subject.vendor_id,
  }
  const text = canonicalJson(asJson(entry))
  const entry_digest = sha256Hex(text)
  return { entry, entry_digest, line: eventLine(text, entry_digest, payload), entryText: text }
}

/**
 * C(event) from the canonical texts of its parts (protocol/trust-operations 6.7): the names stand in their order, so
 * the whole is canonical when its parts are.
 */
export function eventLine(entry: string, entry_digest: string, payload: string): string {
  return `{"entry":${entry},"entry_digest":${canonicalJson(entry_digest)},"payload":${payload},"schema":"${EVENT_SCHEMA}","schema_version":${EVENT_SCHEMA_VERSION}}`
}
