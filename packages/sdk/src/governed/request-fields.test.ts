import { type BoundaryDecision, JsonFloat, type JustificationProof } from '@chancery/protocol'
import { foreignSovereign, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { EvaluateRequest } from '@chancery/contract'
import { pinAttestation } from './decision.ts'
import { type GovernedSetup, openSetup } from './governed.suite.ts'
import { GovernedActionRunner } from './action-runner.ts'
import { MemoryOutbox } from './outbox.ts'

let setup: GovernedSetup
beforeAll(async () => {
  setup = await openSetup()
})
afterAll(() => setup.close())
beforeEach(() => {
  setup.between = (answer) => answer
})

const asking = (
  context: EvaluateRequest['context'],
  requested_capability = 'secret.rotate',
): { request: EvaluateRequest } => ({
  request: { attestation_id: setup.attestation.attestation_id, requested_capability, ...(context ? { context } : {}) },
})
const never = (): Promise<never> => Promise.reject(new Error('done'))
const DIGEST = { name: 'VerificationError', reason: 'context_digest_mismatch' }

describe('a decision that was given for something else', () => {
  const CONTEXT = { context_id: 'workflow-42', request_parameters: { rows: 50 } }

  it.each<[string, EvaluateRequest['context'], string?]>([
    ['other parameters', { ...CONTEXT, request_parameters: { rows: 50_000_000 } }],
    ['no parameters', { context_id: 'workflow-42' }],
    ['another capability', CONTEXT, 'funds.transfer'],
    ['other attributes', { ...CONTEXT, attributes: { region: 'eu' } }],
    ['another freshness', { ...CONTEXT, context_freshness_seq: 1 }],
    ['the very same, in an earlier run', CONTEXT],
  ])('is not acted on: %s', async (_name, context, capability) => {
    let stored: string | undefined
    setup.between = (answer) => (stored ??= answer)
    const governor = await setup.open()
    expect(await governor.run(setup.action(() => Promise.resolve(1), asking(CONTEXT)))).toMatchObject({ value: 1 })
    await expect(governor.run(setup.action(never, asking(context, capability)))).rejects.toMatchObject(DIGEST)
    expect(await governor.pending()).toEqual([])
  })

  it('is not even taken for a denial', async () => {
    let stored: string | undefined
    setup.between = (answer) => (stored ??= answer)
    const governor = await setup.open()
    const denied = await governor.run(setup.action(never, asking(CONTEXT, 'secret.read')))
    expect(denied.allowed).toBe(false)
    await expect(governor.run(setup.action(never, asking(CONTEXT)))).rejects.toMatchObject(DIGEST)
  })
})

it('a run requests its own decision, also under a context that was decided before', async () => {
  const { client, attestation: first } = setup
  const facts = { subject_id: 'vendor-2', roles: ['role:client'], claims: first.claims }
  const attestation = await client.attestations.issue(facts)
  const request = {
    attestation_id: attestation.attestation_id,
    requested_capability: 'secret.rotate',
    context: { context_id: 'job-7' },
  }
  const more = { request, expectedAttestation: pinAttestation(attestation) }
  const governor = await setup.open()
  expect(await governor.run(setup.action(() => Promise.resolve(1), more))).toMatchObject({ allowed: true })
  await client.attestations.revoke(attestation.attestation_id, { reason: 'key_compromise' })
  expect(await governor.run(setup.action(never, more))).toMatchObject({
    allowed: false,
    decision: { context_id: 'job-7' },
  })
})

describe('a genuine decision is valid', () => {
  it.each<[string, EvaluateRequest['context']]>([
    ['without a context', undefined],
    ['with fractions and deep values', { request_parameters: { a: 0.5, b: new JsonFloat(90), c: [{ d: null }, 2.0] } }],
    [
      'with everything that can be said',
      {
        context_id: 'all',
        requester_sovereign_id: 'vendor-1',
        request_parameters: { z: 1, a: 'é' },
        context_freshness_seq: 3,
        attributes: { region: 'eu' },
      },
    ],
    ['with an empty context id', { context_id: '', requester_sovereign_id: '' }],
  ])('%s', async (_name, context) => {
    const governor = await setup.open()
    expect(await governor.run(setup.action(() => Promise.resolve('did'), asking(context)))).toMatchObject({
      value: 'did',
    })
  })

  it('on an agreement', async () => {
    const { client } = setup
    const other = foreignSovereign('OTHER-NET')
    await client.recognitionTreaties.issue({
      subject_sovereign_id: 'OTHER-NET',
      subject_public_keys: [other.publicKey],
      scope: { allowed_roles: ['role:client'] },
      validity_hours: 24,
    })
    const offered = await client.agreements.offer({
      responder_sovereign_id: 'OTHER-NET',
      capabilities: ['ledger.read'],
      valid_from: '2030-01-01T00:00:00Z',
      valid_until: '2030-02-01T00:00:00Z',
      expires_at: '2030-01-03T00:00:00Z',
    })
    const agreement = await client.agreements.accept({ offer: offered })
    const governor = await setup.open()
    for (const parent_kind of [undefined, 'delegation'] as const) {
      const context = parent_kind === undefined ? {} : { context: { parent_kind } }
      const request = { agreement, requested_capability: 'ledger.read', ...context }
      const { expectedAttestation: _none, ...action } = setup.action(() => Promise.resolve('did'), { request })
      expect(await governor.run(action)).toMatchObject({ allowed: true })
    }
  })
})

describe('a justification that does not explain the decision', () => {
  type Answer = { decision: BoundaryDecision; justification_proof: JustificationProof }
  let earlier: JustificationProof | undefined

  it.each<[string, (answer: Answer) => unknown, string]>([
    [
      'unsigned',
      ({ decision, justification_proof }) => ({
        decision,
        justification_proof: { ...justification_proof, signature: null },
      }),
      'justification_missing_signature',
    ],
    [
      'changed',
      ({ decision, justification_proof }) => ({
        decision,
        justification_proof: { ...justification_proof, proof_id: 'another' },
      }),
      'justification_invalid_signature',
    ],
    [
      'of another decision',
      ({ decision }) => ({ decision, justification_proof: earlier }),
      'justification_decision_id_mismatch',
    ],
  ])('stops the action: %s', async (_name, change, reason) => {
    const governor = await setup.open()
    const first = await governor.run(setup.action(() => Promise.resolve()))
    earlier = first.justification
    setup.between = (answer) => JSON.stringify(change(JSON.parse(answer) as Answer))
    await expect(governor.run(setup.action(never))).rejects.toMatchObject({ reason })
  })
})

it('what the caller changes while it waits changes neither the question nor the evidence', async () => {
  const governor = await setup.open()
  const request_parameters: Record<string, number> = { rows: 1 }
  const parameters: Record<string, string> = { secret_version: '7' }
  const asked = asking({ request_parameters })
  const running = governor.run(setup.action(() => Promise.resolve('did'), { ...asked, parameters }))
  request_parameters['rows'] = 1_000_000
  parameters['secret_version'] = '8'
  ;(asked.request as { requested_capability: string }).requested_capability = 'funds.transfer'
  const result = await running
  expect(result).toMatchObject({
    allowed: true,
    evidence: { executed_capability: 'secret.rotate', execution_parameters: { secret_version: '7' } },
  })
})

it('a clock of another unit stops the run', async () => {
  const executor = { signer: await testSigner('rotator-1'), sovereignId: 'rotator' }
  const clock = (): bigint => BigInt(Date.now())
  const governor = await GovernedActionRunner.open({
    client: setup.client,
    executor,
    outbox: new MemoryOutbox(),
    clock,
  })
  await expect(governor.run(setup.action(never))).rejects.toThrow('this looks like milliseconds')
})
