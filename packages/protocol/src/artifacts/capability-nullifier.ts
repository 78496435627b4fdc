import { type Instant, seconds } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import type { ReadBy } from '../reading/schema.ts'
import { digest, identifier, matching, plainText, salt, timestamp } from '../reading/text.ts'
import { closedPart, listOf, omit, signedOnceForm, unsignedForm, yes } from '../reading/trust-form.ts'
import { type MerkleStep, merkleLeaf } from '../disclosure/merkle.ts'
import { saltedLeaf } from '../disclosure/salted.ts'
import { boolean } from '../reading/shape.ts'

export const membershipProofForm = unsignedForm({
  proof_id: yes(identifier),
  commitment_id: yes(identifier),
  // Empty is read, so that the attempt to prove a padding leaf gets its own answer.
  revealed_capability: yes(plainText(256, 0)),
  leaf_hash: yes(digest),
  merkle_path: yes(listOf(closedPart({ sibling_hash: yes(digest), is_left: yes(boolean) })), []),
  prover_sovereign_id: yes(identifier),
  proved_at: yes(timestamp),
  /** Of the revealed capability, in the salted form only. */
  salt: omit(salt),
})

/** Proves that one capability is in a commitment. It has no signature: the path is the proof (protocol/trust-operations 7.3). */
export type CapabilityMembershipProof = ReadBy<typeof membershipProofForm>

export function draftMembershipProof(facts: {
  readonly proof_id: string
  readonly commitment_id: string
  readonly revealed_capability: string
  readonly merkle_path: readonly MerkleStep[]
  readonly prover_sovereign_id: string
  readonly salt?: string
  readonly now: Instant
}): CapabilityMembershipProof {
  const { now, ...named } = facts
  return { ...named, leaf_hash: disclosedLeaf(facts), proved_at: writeInstant(now) }
}

/** The leaf of what a proof shows, in the form that the proof has. */
export function disclosedLeaf(proof: Pick<CapabilityMembershipProof, 'revealed_capability' | 'salt'>): string {
  const { revealed_capability: shown, salt: own } = proof
  return own === undefined ? merkleLeaf(shown) : saltedLeaf(own, shown)
}

const NULLIFIER_SECONDS = 60

export const nullifierForm = signedOnceForm({
  nullifier_id: yes(identifier),
  proof_id: yes(identifier),
  nonce: yes(matching(/^[0-9a-f]{32}$/, '32 lowercase hexadecimal digits')),
  issued_at: yes(timestamp),
  expires_at: yes(timestamp),
  /** Peers write a key id here: nothing may be concluded from it. */
  prover_sovereign_id: yes(identifier),
})

/** Lets a verifier accept a proof once: a verifier that stored its id refuses the second use (protocol/trust-operations 7.5). */
export type CapabilityNullifier = ReadBy<typeof nullifierForm>

export function draftCapabilityNullifier(facts: {
  readonly nullifier_id: string
  readonly proof_id: string
  /** 16 random bytes in hexadecimal digits. */
  readonly nonce: string
  readonly prover_sovereign_id: string
  readonly now: Instant
}): CapabilityNullifier {
  const { now, ...named } = facts
  const expires_at = writeInstant(now + seconds(NULLIFIER_SECONDS))
  return { ...named, issued_at: writeInstant(now), expires_at, signature: null }
}
