import { describe, expect, it } from 'vitest'
import { commitmentForm, draftCapabilityCommitment } from '../artifacts/capability-commitment.ts'
import type { CapabilityCommitment } from '../artifacts/capability-commitment.ts'
import { toBase64 } from '../canonical/base64.ts'
import { sha256Hex } from '../canonical/digest.ts'
import { asJson } from '../signing/verify-any.ts'
import { signForm } from '../signing/received.ts'
import { seedSigner } from '../signing/keys.ts'
import { merkleLeaf } from './merkle.ts'
import { UNSALTED, buildSaltedTree, saltOf, saltedLeaf, saltedLeafCount } from './salted.ts'
import { proveMembership, readCapabilityCommitment, verifyDisclosure } from './verify-disclosure.ts'

const NOW = 1_893_456_000_000_000n
const NAMES = ['a', 'b', 'c', 'd', 'e']
const [SEED, OTHER] = ['11'.repeat(32), '22'.repeat(32)] as [string, string]
const signer = await seedSigner('k', toBase64(new Uint8Array(32).fill(1)))

function commit(seed: string, names: readonly string[] = NAMES): Promise<CapabilityCommitment> {
  const tree = buildSaltedTree(names, seed)
  const facts = { commitment_id: 'c-1', agreement_id: 'a-1', issuer_sovereign_id: 'acme-net', now: NOW }
  const counted = { merkle_root: tree.root, capability_count: saltedLeafCount(names.length), salted: true } as const
  return signForm(commitmentForm, draftCapabilityCommitment({ ...facts, ...counted }), signer)
}

describe('the salted form', () => {
  it('shows every capability of the list, and only with its own seed', async () => {
    const commitment = await commit(SEED)
    const facts = { capabilities: NAMES, commitment, proof_id: 'p', prover_sovereign_id: 'x', now: NOW }
    for (const capability of NAMES) {
      const proof = proveMembership({ ...facts, capability, seed: SEED })
      if (proof === undefined) throw new Error('nothing could be proved')
      const received = readCapabilityCommitment(asJson(commitment))
      expect(await verifyDisclosure(proof, received, [signer.publicKey])).toEqual({ ok: true })
      expect(proof.leaf_hash).not.toBe(merkleLeaf(capability))
      // Nothing from which a hidden name could be guessed: no salt and no leaf that a bare name gives.
      const text = JSON.stringify(proof)
      for (const hidden of NAMES.filter((name) => name !== capability)) {
        expect(text).not.toContain(saltOf(SEED, hidden))
        expect(text).not.toContain(sha256Hex(hidden))
        expect(text).not.toContain(saltedLeaf(saltOf(SEED, capability), hidden))
      }
    }
    expect(proveMembership({ ...facts, capability: 'a', seed: OTHER })).toBeUndefined()
    expect(proveMembership({ ...facts, capability: 'a' })).toBeUndefined()
    expect(proveMembership({ ...facts, capability: '', seed: SEED })).toBeUndefined()
  })

  it('has another root with another seed, and the same one in any order of the list', () => {
    expect(buildSaltedTree(NAMES, SEED).root).not.toBe(buildSaltedTree(NAMES, OTHER).root)
    expect(buildSaltedTree(NAMES.toReversed(), SEED).root).toBe(buildSaltedTree(NAMES, SEED).root)
  })

  it('shows a power of two and not the number of names', () => {
    expect([1, 2, 3, 4, 5, 8, 9, 1024].map(saltedLeafCount)).toEqual([4, 4, 4, 4, 8, 8, 16, 1024])
  })

  it('places a name by its salt and not by its order', () => {
    const places = Array.from({ length: 16 }, (_, at) =>
      JSON.stringify(
        buildSaltedTree(NAMES, at.toString(16).repeat(64))
          .pathOf('a')
          ?.map(({ is_left }) => is_left),
      ),
    )
    expect(new Set(places).size).toBeGreaterThan(3)
  })

  it('is never read as the founding form, nor the founding form as salted', async () => {
    const commitment = await commit(SEED)
    const { salted: _gone, ...stripped } = commitment
    const facts = { capability: 'a', capabilities: NAMES, proof_id: 'p', prover_sovereign_id: 'x', now: NOW }
    const proof = proveMembership({ ...facts, commitment, seed: SEED })
    if (proof === undefined) throw new Error('nothing could be proved')
    expect(await verifyDisclosure(proof, readCapabilityCommitment(asJson(stripped)), [signer.publicKey])).toEqual({
      ok: false,
      reason: 'commitment_invalid_signature',
      warning: UNSALTED,
    })
    expect(() => readCapabilityCommitment({ ...asJson(commitment), salted: false })).toThrow(/salted: must be true/)
  })
})
