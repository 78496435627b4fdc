import { beforeAll, describe, expect, it } from 'vitest'
import { consensusForm, draftConsensusProof, draftValidatorVote, voteForm } from '../artifacts/consensus-proof.ts'
import type { ConsensusProof, ValidatorVote } from '../artifacts/consensus-proof.ts'
import { toBase64 } from '../canonical/base64.ts'
import { seconds } from '../canonical/time.ts'
import { asJson } from '../signing/verify-any.ts'
import { signForm } from '../signing/received.ts'
import { type Signer, seedSigner } from '../signing/keys.ts'
import { type ConsensusTrust, readConsensusProof, verifyConsensusProof } from './verify-consensus.ts'

const NOW = 1_893_456_000_000_000n
const NAMES = ['v1', 'v2', 'v3', 'v4'] as const
type Name = (typeof NAMES)[number] | 'assembler'
let signers: Record<Name, Signer>
beforeAll(async () => {
  const made = await Promise.all(
    [...NAMES, 'assembler'].map(async (name, i) => [
      name,
      await seedSigner(name, toBase64(new Uint8Array(32).fill(i + 1))),
    ]),
  )
  signers = Object.fromEntries(made) as typeof signers
})

let count = 0
async function vote(by: Name, changes: Partial<ValidatorVote> = {}, signer = signers[by]): Promise<ValidatorVote> {
  count += 1
  const draft = draftValidatorVote({
    vote_id: `vote-${count}`,
    proof_id: 'p-1',
    decision_id: 'd-1',
    validator_sovereign_id: by,
    vote: true,
    reason: null,
    context_digest: `context-${count}`,
    now: NOW - seconds(count * 50),
  })
  return signForm(voteForm, { ...draft, ...changes }, signer, by)
}

async function assemble(
  votes: readonly ValidatorVote[],
  changes: Partial<ConsensusProof> = {},
): Promise<ConsensusProof> {
  const draft = draftConsensusProof({
    consensus_id: 'c-1',
    proof_id: 'p-1',
    decision_id: 'd-1',
    required_threshold: 2,
    validator_sovereign_ids: ['v1', 'v2', 'v3'],
    votes,
    cascade_assessment_digest: '',
    now: NOW,
  })
  return signForm(consensusForm, { ...draft, ...changes }, signers.assembler)
}

async function reason(proof: ConsensusProof, changes: Partial<ConsensusTrust> = {}): Promise<string> {
  const validatorKeys = new Map(NAMES.map((name) => [name, signers[name].publicKey]))
  const trust = { assemblerKeys: [signers.assembler.publicKey], validatorKeys, now: NOW, ...changes }
  const verdict = await verifyConsensusProof(readConsensusProof(asJson(proof)), trust)
  return verdict.ok ? 'valid' : verdict.reason
}

const two = async (): Promise<ValidatorVote[]> => [await vote('v1'), await vote('v2')]

describe('verifyConsensusProof (protocol/trust-operations 8.6)', () => {
  it('accepts enough independent votes', async () => {
    expect(await reason(await assemble(await two()))).toBe('valid')
    expect(await reason(await assemble([await vote('v1')], { required_threshold: 1 }))).toBe('valid')
  })

  it('accepts only its assembler', async () => {
    const proof = await assemble(await two())
    expect(await reason({ ...proof, signature: null })).toBe('missing_signature')
    expect(await reason(proof, { assemblerKeys: [signers.v1.publicKey] })).toBe('invalid_assembler_signature')
    expect(await reason({ ...proof, required_threshold: 1 })).toBe('invalid_assembler_signature')
  })

  it('counts no vote about something else', async () => {
    for (const changes of [{ proof_id: 'p-2' }, { decision_id: 'd-2' }])
      expect(await reason(await assemble([await vote('v1'), await vote('v2', changes)]))).toBe('proof_id_mismatch')
    const proof = await assemble(await two())
    expect(await reason(proof, { justification: { proof_id: 'p-1' } })).toBe('valid')
    expect(await reason(proof, { justification: { proof_id: 'p-2' } })).toBe('proof_id_mismatch')
  })

  it('refuses a forged vote whether it counts or not', async () => {
    const forged = await vote('v3', { vote: false }, signers.v1)
    expect(await reason(await assemble([...(await two()), forged]))).toBe('invalid_vote_signature')
    const turned = { ...(await vote('v2', { vote: false })), vote: true }
    expect(await reason(await assemble([await vote('v1'), turned]))).toBe('invalid_vote_signature')
  })

  it('refuses an unsigned vote whether it approves or not', async () => {
    const unsigned = { ...(await vote('v3', { vote: false })), signature: null }
    expect(await reason(await assemble([...(await two()), unsigned]))).toBe('invalid_vote_signature')
    expect(await reason(await assemble([...(await two()), { ...unsigned, vote: true }]))).toBe('invalid_vote_signature')
  })

  it('lets the first faulty vote decide', async () => {
    const unsigned = { ...(await vote('v1')), signature: null }
    const validatorKeys = new Map([['v3', signers.v3.publicKey]])
    expect(await reason(await assemble([unsigned, await vote('v2')]), { validatorKeys })).toBe('invalid_vote_signature')
    expect(await reason(await assemble([await vote('v2'), unsigned]), { validatorKeys })).toBe('unknown_validator_key')
    const garbled = new Map([...validatorKeys, ['v1', 'AAAA'], ['v2', signers.v2.publicKey]])
    expect(await reason(await assemble(await two()), { validatorKeys: garbled })).toBe('unknown_validator_key')
  })

  it('counts validators, not votes, and only named ones', async () => {
    const again = await assemble([await vote('v1'), await vote('v1'), await vote('v1')])
    expect(await reason(again)).toBe('threshold_not_met')
    expect(await reason(await assemble([...(await two()), await vote('v4')]))).toBe('vote_not_in_validator_set')
    const against = await assemble([...(await two()), await vote('v4', { vote: false })])
    expect(await reason(against)).toBe('vote_not_in_validator_set')
    expect(await reason(await assemble([...(await two()), await vote('v3', { vote: false })]))).toBe('valid')
    const both = await assemble([...(await two()), await vote('v2', { vote: false })])
    expect(await reason(both)).toBe('threshold_not_met')
    for (const required_threshold of [0, -1, 3])
      expect(await reason(await assemble(await two(), { required_threshold }))).toBe('threshold_not_met')
  })

  it('wants to know from where each vote was made', async () => {
    for (const context_digest of [null, '']) {
      const blind = await assemble([await vote('v1'), await vote('v2', { context_digest })])
      expect(await reason(blind)).toBe('missing_context_digest')
    }
    const same = { context_digest: 'same' }
    const copied = await assemble([await vote('v1', same), await vote('v2', same)])
    expect(await reason(copied, { now: NOW + seconds(900) })).toBe('cascade_detected')
  })

  it('ends after five minutes', async () => {
    const proof = await assemble(await two())
    expect(await reason(proof, { now: NOW + seconds(300) - 1n })).toBe('valid')
    expect(await reason(proof, { now: NOW + seconds(300) })).toBe('expired')
  })

  it('checks a thousand votes without holding the event loop', async () => {
    const votes: ValidatorVote[] = []
    for (let i = 0; i < 1024; i += 1) votes.push(await vote('v1'))
    const proof = readConsensusProof(asJson(await assemble(votes, { required_threshold: 1 })))
    const trust = {
      assemblerKeys: [signers.assembler.publicKey],
      validatorKeys: new Map([['v1', signers.v1.publicKey]]),
      now: NOW,
    }
    let turns = 0
    const ticking = setInterval(() => (turns += 1), 1)
    expect((await verifyConsensusProof(proof, trust)).ok).toBe(true)
    clearInterval(ticking)
    // Verifications in other threads let timers run in between; on the loop none would.
    expect(turns).toBeGreaterThan(10)
  })
})
