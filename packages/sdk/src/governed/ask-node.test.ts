import { writeJson } from '@chancery/protocol'
import { ManualClock, type TestAuthority, createInvite, startTestAuthority, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, createClient } from '../client.ts'
import { Node } from '../node/node.ts'
import { MemoryNodeStore } from '../node/followed.ts'
import type { GovernedAction } from './ask-decision.ts'
import { GovernedActionRunner } from './action-runner.ts'
import { pinAttestation } from './decision.ts'
import { MemoryOutbox } from './outbox.ts'

const clock = new ManualClock('2030-01-02T03:00:00Z')
let na: TestAuthority
let operator: Client
let node: Node
let governor: GovernedActionRunner
let action: GovernedAction<string>
const paths: string[] = []
beforeAll(async () => {
  const settings = { EVIDENCE_STORE: 'on', NA_NODE_DECISIONS: 'own' }
  na = await startTestAuthority({ clock, backend: 'sqlite', settings })
  const authorityKey = na.genesis.network_authority.public_key
  const signer = await testSigner('op-privileged')
  operator = createClient({ url: na.url, operator: { signer, audience: authorityKey }, clock: () => clock.now() })
  node = await Node.join({
    url: na.url,
    genesis: na.genesis,
    store: new MemoryNodeStore(),
    invite: () => createInvite(na),
    clock: () => clock.now(),
    fetch: (url, init) => {
      paths.push(new URL(url).pathname)
      return fetch(url, init)
    },
  })
  const executor = await testSigner('rotator-1')
  const key = { key_id: executor.keyId, public_key: executor.publicKey, executor_sovereign_id: 'rotator' }
  await operator.evidence.registerKey(key)
  const attestation = await operator.attestations.issue({
    subject_id: 'vendor-1',
    subject_public_key: node.publicKey,
    roles: ['role:client'],
    claims: { capabilities: ['secret.rotate'] },
  })
  governor = await GovernedActionRunner.open({
    client: node.client,
    ask: 'node',
    node,
    executor: { signer: executor, sovereignId: 'rotator' },
    outbox: new MemoryOutbox(),
    clock: () => clock.now(),
  })
  action = {
    request: {
      attestation_id: attestation.attestation_id,
      requested_capability: 'secret.rotate',
      context: { request_parameters: { environment: 'staging' } },
    },
    authorityKeys: [authorityKey],
    expectedPolicies: 'none',
    expectedAttestation: pinAttestation(attestation),
    resource: { id: 'kv/api-key', action: 'rotate' },
    run: () => Promise.resolve('rotated'),
  }
})
afterAll(async () => {
  await governor.stop()
  await node.stop()
  await na.stop()
})

it('decides, acts and continues the chain of a resource without an operator', async () => {
  for (const resource_sequence of [1, 2]) {
    const result = await governor.run(action)
    expect(result).toMatchObject({ authorized: true, stored: true, evidence: { resource_sequence } })
  }
  expect(paths.filter((path) => path.startsWith('/admin'))).toEqual([])
  const { count } = await operator.evidence.search({ entry_kind: 'execution' })
  expect(count).toBe(2)
})

it('a denial is a result, and nothing is done', async () => {
  const request = { ...action.request, requested_capability: 'vault.open' }
  const result = await governor.run({ ...action, request, run: () => Promise.reject(new Error('was run')) })
  expect(result).toMatchObject({ authorized: false, decision: { denial_reason: 'capability out of scope' } })
})

it('a decision without the reviewed attestation or policies is refused', async () => {
  const { expectedAttestation: _pinned, ...bare } = action
  await expect(governor.run(bare)).rejects.toMatchObject({ reason: 'attestation_not_pinned' })
  const expectedPolicies = [{ policy_id: 'p', version: 1, policy_digest: '0'.repeat(64) }]
  await expect(governor.run({ ...action, expectedPolicies })).rejects.toMatchObject({
    reason: 'policy_binding_mismatch',
  })
})

it('a retry after a lost response gets the same decision', async () => {
  let lost = 0
  const decisions: string[] = []
  const flaky = await Node.join({
    url: na.url,
    genesis: na.genesis,
    store: new MemoryNodeStore(),
    invite: () => createInvite(na),
    clock: () => clock.now(),
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      if (!url.endsWith('/boundary/request')) return response
      const text = await response.text()
      decisions.push(/"decision_id":"([^"]+)"/.exec(text)?.[1] ?? text)
      if ((lost += 1) === 1) throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
      return new Response(text, { status: response.status })
    },
  })
  const attestation = await operator.attestations.issue({
    subject_id: 'vendor-2',
    subject_public_key: flaky.publicKey,
    roles: ['role:client'],
    claims: { capabilities: ['secret.rotate'] },
  })
  const signer = await testSigner('rotator-1')
  const second = await GovernedActionRunner.open({
    client: flaky.client,
    ask: 'node',
    node: flaky,
    executor: { signer, sovereignId: 'rotator' },
    outbox: new MemoryOutbox(),
    clock: () => clock.now(),
  })
  const request = { ...action.request, attestation_id: attestation.attestation_id }
  const result = await second.run({ ...action, request, expectedAttestation: pinAttestation(attestation) })
  expect(decisions).toEqual([result.decision.decision_id, result.decision.decision_id])
  await flaky.stop()
})

it('refuses what a node cannot ask, before anything is sent', async () => {
  const before = paths.length
  const request = { ...action.request, context: { context_id: 'mine' } }
  await expect(governor.run({ ...action, request })).rejects.toThrow('the id of the context is that of the run')
  const agreement = writeJson({ agreement_id: 'a-1' })
  const onAgreement = { requested_capability: 'secret.rotate', agreement }
  await expect(governor.run({ ...action, request: onAgreement })).rejects.toThrow('on an attestation')
  expect(paths.slice(before).filter((path) => path === '/boundary/request')).toEqual([])
  const options = { client: node.client, ask: 'node' as const, outbox: new MemoryOutbox() }
  const executor = { signer: await testSigner('rotator-1'), sovereignId: 'rotator' }
  await expect(GovernedActionRunner.open({ ...options, executor })).rejects.toThrow('needs the node that asks')
})
