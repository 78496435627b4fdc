import { type CapabilityCommitment, commitmentForm } from '../artifacts/capability-commitment.ts'
import { disclosedLeaf, draftMembershipProof, nullifierForm } from '../artifacts/capability-nullifier.ts'
import type { CapabilityMembershipProof, CapabilityNullifier } from '../artifacts/capability-nullifier.ts'
import { VALID, type Verdict, invalid } from '../artifacts/verdict.ts'
import type { JsonValue } from '../canonical/utf8.ts'
import type { Instant } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { readReceived, verifyReceived, verifyReceivedPlainly } from '../signing/received.ts'
import type { FormReason, Received } from '../signing/received.ts'
import { buildMerkleTree, merklePathLength, merkleRootOf } from './merkle.ts'
import { UNSALTED, buildSaltedTree, saltOf, saltedLeafCount, saltedNode } from './salted.ts'

export function readCapabilityCommitment(value: JsonValue): Received<CapabilityCommitment> {
  return readReceived(commitmentForm, value)
}

export function readCapabilityNullifier(value: JsonValue): Received<CapabilityNullifier> {
  return readReceived(nullifierForm, value)
}

export type DisclosureReason =
  | 'commitment_not_signed'
  | 'commitment_invalid_signature'
  | 'path_length_inconsistent'
  | 'leaf_hash_mismatch'
  | 'root_mismatch'

/** Labelled when the commitment has the founding form, whatever the result. */
export type DisclosureVerdict = Verdict<DisclosureReason> & { readonly warning?: typeof UNSALTED }

/**
 * Whether a proof shows a capability of a commitment (protocol/trust-operations 7.4).
 * 1. The commitment is signed: an unsigned root promises nothing.
 * 2. One of the issuer's keys signed exactly this commitment, unknown members included.
 * 3. The path is as long as the tree is high. In the founding form nodes and leaves are hashed alike, so a shorter path
 *    could end at an inner node and show 64 bytes of it as a capability.
 * 4. Proof and commitment have the same form. The leaf is that of the capability, and the capability is not empty: the
 *    empty text is what fills up every tree of the founding form.
 * 5. The path leads to the promised root, and the proof was made for this commitment: two agreements may share a root.
 */
export async function verifyDisclosure(
  proof: CapabilityMembershipProof,
  commitment: Received<CapabilityCommitment>,
  keys: readonly string[],
): Promise<DisclosureVerdict> {
  const verdict = await verifyEitherForm(proof, commitment, keys)
  return commitment.record.salted === true ? verdict : { ...verdict, warning: UNSALTED }
}

async function verifyEitherForm(
  proof: CapabilityMembershipProof,
  commitment: Received<CapabilityCommitment>,
  keys: readonly string[],
): Promise<Verdict<DisclosureReason>> {
  const signed = await verifyReceivedPlainly(commitment, keys)
  if (!signed.ok)
    return invalid(signed.reason === 'missing_signature' ? 'commitment_not_signed' : 'commitment_invalid_signature')
  const { commitment_id, merkle_root, capability_count, salted = false } = commitment.record
  if (proof.merkle_path.length !== merklePathLength(capability_count)) return invalid('path_length_inconsistent')
  const isLeaf =
    salted === (proof.salt !== undefined) &&
    proof.revealed_capability !== '' &&
    proof.leaf_hash === disclosedLeaf(proof)
  if (!isLeaf) return invalid('leaf_hash_mismatch')
  const root = salted
    ? merkleRootOf(proof.leaf_hash, proof.merkle_path, saltedNode)
    : merkleRootOf(proof.leaf_hash, proof.merkle_path)
  const isRooted = root === merkle_root
  return isRooted && proof.commitment_id === commitment_id ? VALID : invalid('root_mismatch')
}

/**
 * The proof of one capability out of a list, or undefined when the list is not the committed one or lacks it. Whether
 * the commitment is signed is checked by the verifier.
 */
export function proveMembership(facts: {
  readonly capability: string
  readonly capabilities: readonly string[]
  readonly commitment: CapabilityCommitment
  /** Of a salted commitment. */
  readonly seed?: string
  readonly proof_id: string
  readonly prover_sovereign_id: string
  readonly now: Instant
}): CapabilityMembershipProof | undefined {
  const { capability, capabilities, commitment, seed, ...named } = facts
  const { commitment_id, capability_count, salted = false } = commitment
  if (salted !== (seed !== undefined) || capabilities.length === 0) return undefined
  const leaves = salted ? saltedLeafCount(capabilities.length) : capabilities.length
  if (leaves !== capability_count) return undefined
  const tree = seed === undefined ? buildMerkleTree(capabilities) : buildSaltedTree(capabilities, seed)
  const merkle_path = tree.pathOf(capability)
  if (merkle_path === undefined || tree.root !== commitment.merkle_root) return undefined
  const salt = seed === undefined ? {} : { salt: saltOf(seed, capability) }
  return draftMembershipProof({ ...named, ...salt, commitment_id, revealed_capability: capability, merkle_path })
}

export type NullifierReason = FormReason | 'proof_id_mismatch' | 'nullifier_expired' | 'nullifier_already_used'

/**
 * Whether a verifier may take the proof that this nullifier marks (protocol/trust-operations 7.4).
 * 1. One of the issuer's keys signed it: without a signature any caller could invent a new id.
 * 2. It marks this proof: a nullifier of another proof would leave this one reusable.
 * 3. Its minute is not over, so that ids must be stored for one minute only.
 * 4. Its id was not seen before.
 */
export async function verifyCapabilityNullifier(
  nullifier: Received<CapabilityNullifier>,
  against: {
    readonly keys: readonly string[]
    readonly proof_id: string
    readonly isUsed: boolean
    readonly now: Instant
  },
): Promise<Verdict<NullifierReason>> {
  const signed = await verifyReceived(nullifier, against.keys)
  if (!signed.ok) return signed
  if (nullifier.record.proof_id !== against.proof_id) return invalid('proof_id_mismatch')
  if (instantOf(nullifier.record.expires_at) <= against.now) return invalid('nullifier_expired')
  return against.isUsed ? invalid('nullifier_already_used') : VALID
}
