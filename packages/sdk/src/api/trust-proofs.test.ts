import {
  asReceived,
  justificationForm,
  licensePolicyForm,
  readJson,
  signForm,
  verifyReceived,
} from '@chancery/protocol'
import type { JsonObject, JustificationProof } from '@chancery/protocol'
import {
  ManualClock,
  foreignJustification,
  foreignSovereign,
  foreignVote,
  startTestAuthority,
  testSigner,
  wireText,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAuthorityClient } from '../authority/client.ts'
import type { Client } from '../client.ts'
import { ResponseError, RefusedError } from '../errors.ts'
import { listen } from '../http/http-server.suite.ts'

const clock = new ManualClock('2030-01-02T03:00:00Z')
const partner = foreignSovereign('PARTNER-NET')
let na: TestAuthority
let client: Client
beforeAll(async () => {
  na = await startTestAuthority({ clock, backend: 'sqlite', settings: { EVIDENCE_STORE: 'on', NA_CLOCK_CHECK: 'off' } })
  const operator = { signer: await testSigner('op-privileged'), audience: na.genesis.network_authority.public_key }
  client = createAuthorityClient({ url: na.url, operator, clock: () => clock.now(), retry: false })
})
afterAll(() => na.stop())

async function agree(capabilities: readonly string[]): Promise<JsonObject> {
  await client.recognitionTreaties.issue({
    subject_sovereign_id: 'PARTNER-NET',
    subject_public_keys: [partner.publicKey],
    scope: { allowed_roles: ['role:client'] },
  })
  const terms = {
    responder_sovereign_id: 'PARTNER-NET',
    capabilities,
    valid_from: '2030-01-01T00:00:00Z',
    valid_until: '2031-01-01T00:00:00Z',
    expires_at: '2030-02-01T00:00:00Z',
  }
  const operator = na.as('standard')
  const offer = (await operator('POST', '/admin/agreements/offer', terms)).json as JsonObject
  return (await operator('POST', '/admin/agreements/accept', { offer })).json as JsonObject
}

describe('disclosure', () => {
  it('is committed, proved, verified and marked', async () => {
    const capabilities = ['a', 'b', 'c']
    const agreement = await agree(capabilities)
    const { commitment, seed } = await client.disclosure.commit({ capabilities, agreement })
    const shown = { capability: 'b', capabilities, prover_sovereign_id: 'P' }
    const proof = await client.disclosure.prove({ ...shown, commitment, seed })
    const { commitment_id } = commitment
    expect(await client.disclosure.verify({ proof, commitment })).toEqual({
      valid: true,
      reason: 'valid',
      commitment_id,
      warning: null,
    })
    const plain = await client.disclosure.commitUnsalted({ capabilities, agreement })
    const former = { proof: await client.disclosure.prove({ ...shown, commitment: plain }), commitment: plain }
    expect(await client.disclosure.verify(former)).toMatchObject({
      valid: true,
      warning: 'unsalted: hidden names can be guessed',
    })
    const verdict = await client.disclosure.verify({ proof, commitment, issuer_public_keys: [partner.publicKey] })
    expect(verdict.reason).toBe('commitment_invalid_signature')
    expect((await client.disclosure.nullifier({ proof })).proof_id).toBe(proof.proof_id)
  })
})

describe('consensus', () => {
  it('is voted, assembled and verified', async () => {
    const { signature: _other, ...draft } = foreignJustification(partner, clock.now(), {
      issuer_sovereign_id: 'TEST-NET',
    })
    const unsigned = { ...(readJson(wireText(draft)) as unknown as JustificationProof), signature: null }
    const justification_proof = await signForm(justificationForm, unsigned, await testSigner('na-test', 'na'))
    const vote = await client.consensus.vote({ justification_proof, vote: true, reason: 'fine' })
    expect(vote).toMatchObject({ validator_sovereign_id: 'TEST-NET', reason: 'fine' })
    const { proof_id, decision_id } = justification_proof
    const other = foreignVote(partner, { proof_id, decision_id }, clock.now() - 120_000_000n)
    const proof = await client.consensus.proof({
      justification_proof,
      votes: [vote, other],
      required_threshold: 2,
      validator_sovereign_ids: ['TEST-NET', 'PARTNER-NET'],
    })
    const validator_public_keys = {
      'TEST-NET': na.genesis.network_authority.public_key,
      'PARTNER-NET': partner.publicKey,
    }
    expect(await client.consensus.verify({ proof, validator_public_keys })).toEqual({
      valid: true,
      reason: 'valid',
      consensus_id: proof.consensus_id,
    })
  })
})

describe('dataUsage', () => {
  it('is licensed, declared and verified', async () => {
    const refusal = await client.dataUsage.current().catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(RefusedError)
    expect((refusal as RefusedError).code).toBe('no_policy')
    const terms = {
      licensee_sovereign_id: 'PARTNER-NET',
      allowed_source_ids: ['s-1'],
      allowed_access_types: [],
      valid_from: '2030-01-01T00:00:00Z',
      valid_until: '2031-01-01T00:00:00Z',
    }
    const policy = await client.dataUsage.publish(terms, { idempotencyKey: 'license-1' })
    expect(await client.dataUsage.publish(terms, { idempotencyKey: 'license-1' })).toEqual(policy)
    expect(await client.dataUsage.current()).toEqual(policy)
    const key = na.genesis.network_authority.public_key
    expect(await verifyReceived(asReceived(licensePolicyForm, policy), [key])).toEqual({ ok: true })
    const source = { source_id: 's-2', source_type: 'public', owner_sovereign_id: 'TEST-NET' }
    const intent = await client.dataUsage.intent({ sources: [source], access_types: ['read'] })
    const verdict = await client.dataUsage.verify({ intent, policy })
    const recorded = await client.dataUsage.record({ intent, policy })
    expect(recorded).toMatchObject({ valid: verdict.valid, entry: { entry_kind: 'usage_violation' } })
    const { licensee_sovereign_id } = policy
    expect(await client.dataUsage.current({ licensee_sovereign_id })).toEqual(policy)
    await expect(client.dataUsage.current({ licensee_sovereign_id: 'nobody' })).rejects.toThrow(RefusedError)
    expect(verdict).toMatchObject({ valid: false, violation_reason: 'source_not_licensed', violation_count: 1 })
    expect(verdict.violations[0]?.detail).toBe('source s-2 is not licensed')
  })

  it('refuses a record that it cannot return completely', async () => {
    const policy = { ...(await client.dataUsage.current()), more: 1 }
    const server = await listen(() => ({ json: policy }))
    const other = createAuthorityClient({ url: server.url, retry: false })
    await expect(other.dataUsage.current()).rejects.toThrow(ResponseError)
    await server.close()
  })
})
