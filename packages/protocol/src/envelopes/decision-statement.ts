import type { BoundaryDecision } from '../artifacts/boundary-decision.ts'
import { toBase64 } from '../canonical/base64.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { toUtf8 } from '../canonical/utf8.ts'
import { type Received, receivedDigest } from '../signing/received.ts'

export const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1'
export const STATEMENT_PAYLOAD_TYPE = 'application/vnd.in-toto+json'
const DECISION_PREDICATE_TYPE = 'urn:chancery:predicate:boundary-decision:v1'

/** The entry of the evidence store that has the decision. */
export interface StatedEntry {
  readonly store_sequence: number
  readonly payload_digest: string
}

/**
 * The in-toto statement about a decision (protocol/trust-operations 6.15). Its predicate has the signed record
 * unchanged: the signature inside stays the proof, and the envelope is for verifiers of others. Only one text is the
 * statement of a record, so a reader compares texts.
 */
export function writeDecisionStatement(decision: Received<BoundaryDecision>, entry: StatedEntry): string {
  return canonicalJson({
    _type: STATEMENT_TYPE,
    subject: [
      { name: `boundary-decision:${decision.record.decision_id}`, digest: { sha256: receivedDigest(decision) } },
      { name: `evidence-entry:${entry.store_sequence}`, digest: { sha256: entry.payload_digest } },
    ],
    predicateType: DECISION_PREDICATE_TYPE,
    predicate: { record: toBase64(toUtf8(canonicalJson(decision.wire))) },
  })
}
