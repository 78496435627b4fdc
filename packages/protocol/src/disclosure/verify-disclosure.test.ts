import { describe, expect, it } from 'vitest'
import { draftCapabilityCommitment, commitmentForm } from '../artifacts/capability-commitment.ts'
import type { CapabilityCommitment } from '../artifacts/capability-commitment.ts'
import { draftCapabilityNullifier, nullifierForm } from '../artifacts/capability-nullifier.ts'
import type { CapabilityMembershipProof } from '../artifacts/capability-nullifier.ts'
import { toBase64 } from '../canonical/base64.ts'
import { seconds } from '../canonical/time.ts'
import { asJson } from '../signing/verify-any.ts'
import { signForm } from '../signing/received.ts'
import { type Signer, seedSigner } from '../signing/keys.ts'
import { buildMerkleTree, merkleLeaf } from './merkle.ts'
import {
  proveMembership,
  readCapabilityCommitment,
  readCapabilityNullifier,
  verifyCapabilityNullifier,
  verifyDisclosure,
} from './verify-disclosure.ts'

const NOW = 1_893_456_000_000_000n
const CAPABILITIES = ['a', 'b', 'c']
const PADDING = merkleLeaf('')

function signerOf(byte: number): Promise<Signer> {
  return seedSigner('k', toBase64(new Uint8Array(32).fill(byte)))
}

async function commit(
  capabilities: readonly string[],
  changes: Partial<CapabilityCommitment> = {},
): Promise<CapabilityCommitment> {
  const draft = draftCapabilityCommitment({
    commitment_id: 'c-1',
    merkle_root: buildMerkleTree(capabilities).root,
    capability_count: capabilities.length,
    agreement_id: 'a-1',
    issuer_sovereign_id: 'acme-net',
    now: NOW,
    ...changes,
  })
  return signForm(commitmentForm, draft, await signerOf(1))
}

function prove(commitment: CapabilityCommitment, capability = 'a'): CapabilityMembershipProof {
  const facts = { proof_id: 'p-1', prover_sovereign_id: 'bolt-net', now: NOW }
  const proof = proveMembership({ ...facts, capability, capabilities: CAPABILITIES, commitment })
  if (proof === undefined) throw new Error('nothing could be proved')
  return proof
}

async function judge(proof: CapabilityMembershipProof, commitment: CapabilityCommitment, byte = 1): Promise<string> {
  const received = readCapabilityCommitment(asJson(commitment))
  const verdict = await verifyDisclosure(proof, received, [(await signerOf(byte)).publicKey])
  return verdict.ok ? 'valid' : verdict.reason
}

describe('verifyDisclosure (protocol/trust-operations 7.4)', () => {
  it('accepts every capability of the list', async () => {
    const commitment = await commit(CAPABILITIES)
    for (const capability of CAPABILITIES) expect(await judge(prove(commitment, capability), commitment)).toBe('valid')
  })

  it('gives the first reason that applies, in the order of the table', async () => {
    const commitment = await commit(CAPABILITIES)
    const proof = prove(commitment)
    const short = { ...proof, merkle_path: proof.merkle_path.slice(1), leaf_hash: PADDING, commitment_id: 'other' }
    const wrongLeaf = { ...proof, leaf_hash: PADDING, commitment_id: 'other' }
    expect(await judge(short, { ...commitment, signature: null })).toBe('commitment_not_signed')
    expect(await judge(short, commitment, 2)).toBe('commitment_invalid_signature')
    expect(await judge(short, { ...commitment, capability_count: 2 })).toBe('commitment_invalid_signature')
    expect(await judge(short, commitment)).toBe('path_length_inconsistent')
    expect(await judge(wrongLeaf, commitment)).toBe('leaf_hash_mismatch')
    expect(await judge({ ...proof, commitment_id: 'other' }, commitment)).toBe('root_mismatch')
  })

  it('never takes the padding for a capability', async () => {
    const commitment = await commit(CAPABILITIES)
    const [, above] = prove(commitment, 'c').merkle_path
    if (above === undefined) throw new Error('a tree of three has two levels')
    const merkle_path = [{ sibling_hash: merkleLeaf('c'), is_left: true }, above]
    const forged = { ...prove(commitment), revealed_capability: '', leaf_hash: PADDING, merkle_path }
    expect(await judge(forged, commitment)).toBe('leaf_hash_mismatch')
  })

  it('never takes an inner node for a capability', async () => {
    const commitment = await commit(CAPABILITIES)
    // The path from the inner node over a and b is one step short.
    const [, above] = prove(commitment, 'a').merkle_path
    if (above === undefined) throw new Error('a tree of three has two levels')
    expect(await judge({ ...prove(commitment), merkle_path: [above] }, commitment)).toBe('path_length_inconsistent')
  })
})

describe('proveMembership', () => {
  it('proves nothing over another list, nor what the list lacks', async () => {
    const commitment = await commit(CAPABILITIES)
    const facts = { commitment, proof_id: 'p', prover_sovereign_id: 'x', now: NOW }
    expect(proveMembership({ ...facts, capability: 'z', capabilities: CAPABILITIES })).toBeUndefined()
    expect(proveMembership({ ...facts, capability: 'a', capabilities: ['a', 'b', 'd'] })).toBeUndefined()
    expect(proveMembership({ ...facts, capability: 'a', capabilities: ['a', 'b', 'c', 'c'] })).toBeUndefined()
  })
})

describe('verifyCapabilityNullifier', () => {
  const draft = draftCapabilityNullifier({
    nullifier_id: 'n-1',
    proof_id: 'p-1',
    nonce: '0'.repeat(32),
    prover_sovereign_id: 'acme-net',
    now: NOW,
  })
  it.each([
    ['valid', 'p-1', 59, false],
    ['proof_id_mismatch', 'p-2', 61, true],
    ['nullifier_expired', 'p-1', 60, true],
    ['nullifier_already_used', 'p-1', 59, true],
  ])('%s', async (expected, proof_id, later, isUsed) => {
    const sealed = await signForm(nullifierForm, draft, await signerOf(1))
    const keys = [(await signerOf(1)).publicKey]
    const against = { keys, proof_id, isUsed, now: NOW + seconds(later) }
    const verdict = await verifyCapabilityNullifier(readCapabilityNullifier(asJson(sealed)), against)
    expect(verdict.ok ? 'valid' : verdict.reason).toBe(expected)
    const outsider = { ...against, keys: [(await signerOf(2)).publicKey] }
    expect(await verifyCapabilityNullifier(readCapabilityNullifier(asJson(sealed)), outsider)).toEqual({
      ok: false,
      reason: 'invalid_signature',
    })
  })
})
