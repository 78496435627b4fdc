import { type JsonObject, asJson, readJson, readValidatorVote, verifyVote } from '@chancery/protocol'
import { ManualClock, foreignJustification, foreignSovereign, testSigner, wireText } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { VerificationError } from '../errors.ts'
import { castVote } from './cast-vote.ts'

const clock = new ManualClock('2030-01-02T03:04:05Z')
const issuer = foreignSovereign('ISSUER-NET')
const text = wireText(foreignJustification(issuer, clock.now()))
const proof = readJson(text) as JsonObject
const signer = await testSigner('validator')
const validator = { sovereignId: 'VALIDATOR-NET', signer }
const options = { justification: text, issuerKeys: [issuer.publicKey], validator, clock: () => clock.now() }

describe('castVote', () => {
  it('signs the choice of the caller about the verified trace', async () => {
    const vote = await castVote({ ...options, judge: (trace) => ({ vote: trace.final_authorized, reason: 'denied' }) })
    expect(vote).toMatchObject({
      proof_id: proof['proof_id'],
      decision_id: proof['decision_id'],
      validator_sovereign_id: 'VALIDATOR-NET',
      vote: false,
      reason: 'denied',
      voted_at: '2030-01-02T03:04:05Z',
    })
    expect(await verifyVote(readValidatorVote(asJson(vote)), signer.publicKey)).toBe(true)
    const again = await castVote({ ...options, justification: proof, judge: () => Promise.resolve(true) })
    expect([again.vote, again.reason]).toEqual([true, null])
    expect(again.context_digest).not.toBe(vote.context_digest)
  })

  it.each([
    ['malformed', { justification: '{' }],
    ['malformed', { justification: {} }],
    ['unknown_issuer', { issuerKeys: [] }],
    ['missing_signature', { justification: { ...proof, signature: null } }],
    ['invalid_signature', { justification: { ...proof, decision_id: 'other' } }],
    ['invalid_signature', { issuerKeys: [foreignSovereign('OTHER-NET').publicKey] }],
    ['malformed', { decision: {} }],
  ])('does not ask the caller and does not sign when the proof is %s', async (reason, changes) => {
    let asked = 0
    const judge = (): boolean => (asked += 1) > 0
    const made = castVote({ ...options, ...changes, judge })
    await expect(made).rejects.toThrow(VerificationError)
    await expect(made).rejects.toMatchObject({ reason })
    expect(asked).toBe(0)
  })
})
