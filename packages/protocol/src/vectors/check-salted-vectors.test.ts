import { describe, expect, it } from 'vitest'
import * as protocol from '../index.ts'
import vectors from './salted-disclosure.json' with { type: 'json' }

const { seed, capabilities, salts, leaves, commitment, proof, verdicts, public_key } = vectors
const record = protocol.readCapabilityCommitment({
  ...(protocol.readJson(commitment.bytes) as protocol.JsonObject),
  signature: { key_id: commitment.key_id, sig: commitment.sig },
})

/** protocol/trust-operations 7.6. The values were made by another program from the text of that section. */
describe('golden vectors of the salted form', () => {
  it('salts, leaves and the root', () => {
    for (const [name, salt] of Object.entries(salts)) {
      expect(protocol.saltOf(seed, name)).toBe(salt)
      expect(leaves.find(({ of }) => of === name)?.sha256).toBe(protocol.saltedLeaf(salt, name))
    }
    expect(protocol.buildSaltedTree(capabilities, seed).root).toBe(vectors.root)
  })

  it('the commitment has its canonical text and digest', () => {
    expect(protocol.canonicalJson(protocol.readJson(commitment.bytes))).toBe(commitment.bytes)
    expect(protocol.sha256Hex(commitment.bytes)).toBe(commitment.sha256)
  })

  it('the proof is made again from seed and list, and has no other salt', () => {
    const made = protocol.proveMembership({
      capability: 'ledger.read',
      capabilities,
      commitment: record.record,
      seed,
      proof_id: '0b6c1c52-5a0e-4b53-9a53-0d6c0f5f0084',
      prover_sovereign_id: 'bolt-net',
      now: protocol.instantOf('2027-03-04T05:06:07Z'),
    })
    expect(made).toBeDefined()
    expect(protocol.canonicalJson(protocol.asJson(made ?? {}))).toBe(proof.bytes)
    expect(protocol.sha256Hex(proof.bytes)).toBe(proof.sha256)
    for (const name of ['ledger.append', 'ledger.close'] as const) expect(proof.bytes).not.toContain(salts[name])
  })

  it.each(verdicts)('a proof $name: $reason', async ({ changes, reason }) => {
    const shown = { ...(protocol.readJson(proof.bytes) as protocol.JsonObject), ...(changes as protocol.JsonObject) }
    const read = protocol.readReceived(protocol.membershipProofForm, shown).record
    const verdict = await protocol.verifyDisclosure(read, record, [public_key])
    expect(verdict).toEqual(reason === 'valid' ? { ok: true } : { ok: false, reason })
  })
})
