import { createHash, randomUUID } from 'node:crypto'
import { type Instant, hours, seconds, writeInstant } from '@chancery/protocol'
import type { ForeignObject, ForeignSovereign } from './foreign-sovereign.ts'

/** Records of trust operations another sovereign signs: in force now, every member written out. */
export function foreignLicense(licensor: ForeignSovereign, now: Instant, changes: ForeignObject = {}): ForeignObject {
  return licensor.signOnce({
    policy_id: randomUUID(),
    licensor_sovereign_id: licensor.sovereign_id,
    licensee_sovereign_id: 'bolt-net',
    allowed_source_ids: ['src-1', 'src-2'],
    allowed_access_types: ['read', 'derive'],
    max_volume_bytes_per_session: 1000,
    prohibited_classification_tags: ['health'],
    valid_from: writeInstant(now - hours(1)),
    valid_until: writeInstant(now + hours(1)),
    ...changes,
  })
}

export function foreignIntent(agent: ForeignSovereign, now: Instant, changes: ForeignObject = {}): ForeignObject {
  const record = {
    intent_id: randomUUID(),
    agent_sovereign_id: agent.sovereign_id,
    decision_id: randomUUID(),
    declared_sources: [
      { source_id: 'src-1', source_type: 'public', owner_sovereign_id: 'acme-net', classification_tags: [] },
    ],
    declared_access_types: ['read'],
    estimated_volume_bytes: 100,
    declared_at: writeInstant(now),
    expires_at: writeInstant(now + seconds(300)),
    ...changes,
  }
  return agent.signOnce(record, agent.sovereign_id)
}

/** Over distinct capabilities; the tree is built here, by nothing of the product. */
export function foreignCommitment(
  issuer: ForeignSovereign,
  now: Instant,
  capabilities: readonly string[],
  changes: ForeignObject = {},
): ForeignObject {
  return issuer.signOnce({
    commitment_id: randomUUID(),
    merkle_root: foreignTree(capabilities).root,
    capability_count: capabilities.length,
    agreement_id: randomUUID(),
    committed_at: writeInstant(now),
    issuer_sovereign_id: issuer.sovereign_id,
    ...changes,
  })
}

export function foreignProof(
  commitment: ForeignObject,
  now: Instant,
  capabilities: readonly string[],
  capability: string,
): ForeignObject {
  return {
    proof_id: randomUUID(),
    commitment_id: commitment['commitment_id'] ?? null,
    revealed_capability: capability,
    leaf_hash: sha256(capability).toString('hex'),
    merkle_path: foreignTree(capabilities).pathOf(capability),
    prover_sovereign_id: 'prover-net',
    proved_at: writeInstant(now),
  }
}

interface ForeignTree {
  readonly root: string
  pathOf(capability: string): readonly { readonly sibling_hash: string; readonly is_left: boolean }[]
}

/** A Merkle tree by halving: the root of a range is the hash of the roots of its halves (protocol/trust-operations 7.1). */
export function foreignTree(capabilities: readonly string[]): ForeignTree {
  const sorted = capabilities.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  const width = 2 ** Math.ceil(Math.log2(sorted.length))
  const rootOf = (from: number, size: number): Buffer => {
    if (size === 1) return sha256(sorted[from] ?? '')
    return sha256(Buffer.concat([rootOf(from, size / 2), rootOf(from + size / 2, size / 2)]))
  }
  const walk = (at: number, from: number, size: number): { sibling_hash: string; is_left: boolean }[] => {
    if (size === 1) return []
    const middle = from + size / 2
    const isRight = at >= middle
    const below = isRight ? walk(at, middle, size / 2) : walk(at, from, size / 2)
    const sibling = isRight ? rootOf(from, size / 2) : rootOf(middle, size / 2)
    return [...below, { sibling_hash: sibling.toString('hex'), is_left: isRight }]
  }
  return {
    root: rootOf(0, width).toString('hex'),
    pathOf: (capability) => walk(sorted.indexOf(capability), 0, width),
  }
}

function sha256(text: string | Buffer): Buffer {
  return createHash('sha256').update(text).digest()
}

export interface JustificationIds {
  readonly proof_id: string
  readonly decision_id: string
}

/** A vote; its context has a unique digest unless `changes` set one. */
export function foreignVote(
  validator: ForeignSovereign,
  about: JustificationIds,
  votedAt: Instant,
  changes: ForeignObject = {},
): ForeignObject {
  const record = {
    vote_id: randomUUID(),
    proof_id: about.proof_id,
    decision_id: about.decision_id,
    validator_sovereign_id: validator.sovereign_id,
    vote: true,
    reason: null,
    voted_at: writeInstant(votedAt),
    context_digest: sha256(randomUUID()).toString('hex'),
    ...changes,
  }
  return validator.signOnce(record, validator.sovereign_id)
}

export function foreignConsensus(
  assembler: ForeignSovereign,
  about: JustificationIds,
  now: Instant,
  changes: ForeignObject = {},
): ForeignObject {
  return assembler.signOnce({
    consensus_id: randomUUID(),
    proof_id: about.proof_id,
    decision_id: about.decision_id,
    required_threshold: 2,
    validator_sovereign_ids: ['v1-net', 'v2-net', 'v3-net'],
    votes: [],
    reached_at: writeInstant(now),
    expires_at: writeInstant(now + seconds(300)),
    cascade_assessment_digest: null,
    ...changes,
  })
}

/** Why a decision denied, as its authority would sign it. */
export function foreignJustification(
  issuer: Pick<ForeignSovereign, 'sovereign_id' | 'signOnce'>,
  now: Instant,
  changes: ForeignObject = {},
): ForeignObject {
  const [decision_id, at] = [randomUUID(), writeInstant(now)]
  const entry = {
    gate_name: 'capability_check',
    gate_type: 'CapabilityGate',
    evaluated_at: at,
    inputs: { requested_capability: 'ledger.read', capabilities: [] },
    result: false,
    reason: 'not agreed',
    metadata: {},
  }
  return issuer.signOnce({
    proof_id: randomUUID(),
    decision_id,
    trace: {
      trace_id: randomUUID(),
      decision_id,
      agreement_id: randomUUID(),
      operator_sovereign_id: issuer.sovereign_id,
      traced_at: at,
      entries: [entry],
      short_circuited_at: 'capability_check',
      final_authorized: false,
    },
    proof_issued_at: at,
    issuer_sovereign_id: issuer.sovereign_id,
    ...changes,
  })
}
