import type { JsonObject } from '../canonical/utf8.ts'

/** Records of protocol/core … */
export type CoreKindName =
  | 'genesis-block'
  | 'join-certificate'
  | 'crl'
  | 'policy-manifest'
  | 'agent-descriptor'
  | 'membership-attestation'
  | 'recognition-treaty'
  | 'recognition-policy'
  | 'sovereign-revocation-feed'

/** … and of protocol/trust-operations. */
export type TrustKindName =
  | 'trust-evidence'
  | 'capability-offer'
  | 'capability-counter'
  | 'agreement-record'
  | 'boundary-decision'
  | 'boundary-policy'
  | 'freshness-proof'
  | 'justification-proof'
  | 'execution-evidence'
  | 'retention-checkpoint'
  | 'store-anchor'
  | 'capability-commitment'
  | 'capability-membership-proof'
  | 'capability-nullifier'
  | 'validator-vote'
  | 'consensus-proof'
  | 'data-license-policy'
  | 'data-access-intent'

export type RecordKindName = CoreKindName | TrustKindName

interface Marks {
  /** Members that together only this kind of record has. */
  readonly has: readonly [string, ...string[]]
  /** Members that separate it from a kind with all its members and more. */
  readonly lacks?: readonly string[]
}

/**
 * How a record kind is detected by its members. No record names its kind inside the signed bytes, so each kind is detected by
 * members that only it contains; a test compares every pair of kinds.
 */
const MARKS: Readonly<Record<RecordKindName, Marks>> = {
  'genesis-block': { has: ['root_public_key'] },
  'join-certificate': { has: ['cert_id'] },
  crl: { has: ['crl_id'] },
  'policy-manifest': { has: ['policy_id', 'issued_by'], lacks: ['selector', 'gates', 'licensor_sovereign_id'] },
  'agent-descriptor': { has: ['agent_id'] },
  'membership-attestation': { has: ['attestation_id', 'subject_id'] },
  'recognition-treaty': { has: ['treaty_id'] },
  'recognition-policy': { has: ['local_sovereign_id'] },
  'sovereign-revocation-feed': { has: ['feed_id'] },
  'trust-evidence': { has: ['evidence_id', 'verdict'] },
  'capability-offer': { has: ['offer_id', 'requested_terms'] },
  // An agreement record is a counter with an id: its signed bytes are the same by design.
  'capability-counter': { has: ['offer_id', 'agreed_terms'], lacks: ['agreement_id'] },
  'agreement-record': { has: ['agreement_id', 'agreed_terms'] },
  'boundary-decision': { has: ['decision_id', 'gate_results'] },
  'boundary-policy': { has: ['policy_id', 'selector'] },
  'freshness-proof': { has: ['proof_id', 'feed_sequence'] },
  'justification-proof': { has: ['proof_id', 'trace'] },
  'execution-evidence': { has: ['evidence_id', 'executor_sovereign_id'] },
  'retention-checkpoint': { has: ['checkpoint_id'] },
  'store-anchor': { has: ['anchor_sequence'] },
  'capability-commitment': { has: ['commitment_id', 'merkle_root'] },
  'capability-membership-proof': { has: ['proof_id', 'revealed_capability'] },
  'capability-nullifier': { has: ['nullifier_id'] },
  'validator-vote': { has: ['vote_id'] },
  'consensus-proof': { has: ['consensus_id', 'votes'] },
  'data-license-policy': { has: ['policy_id', 'licensor_sovereign_id'] },
  'data-access-intent': { has: ['intent_id'] },
}

export const RECORD_KINDS: readonly RecordKindName[] = Object.keys(MARKS) as RecordKindName[]

/** The kind of a record, or undefined when no kind fits or more than one does: nothing is guessed. */
export function detectRecordKind(value: JsonObject): RecordKindName | undefined {
  const has = (name: string): boolean => Object.hasOwn(value, name)
  const fitting = RECORD_KINDS.filter((kind) => {
    const { has: wanted, lacks = [] } = MARKS[kind]
    return wanted.every(has) && !lacks.some(has)
  })
  return fitting.length === 1 ? fitting[0] : undefined
}
