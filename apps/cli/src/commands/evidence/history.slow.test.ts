import { writeFile } from 'node:fs/promises'
import { executionEvidenceForm, signForm, writeJson, writePublicKeyFile } from '@chancery/protocol'
import type { ExecutionEvidence, JsonObject } from '@chancery/protocol'
import { testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let network: RealNetwork
beforeAll(async () => {
  network = await openNetwork({ EVIDENCE_STORE: 'on' })
  const { setup, asOperator } = network
  const executor = await testSigner('rotator-1')
  await writeFile(setup.path('rotator.pub'), writePublicKeyFile(executor.publicKey, 'rotator-1'))
  await asOperator('evidence key add rotator-1 --key rotator.pub --executor rotator')
  const issued = await asOperator('attestation issue vendor-1 --role role:client --capability secret.rotate --json')
  const id = String(issued.json()['attestation_id'])
  const answer = await asOperator(`ask --as operator secret.rotate --attestation ${id} --json`)
  const decision = answer.json()['decision'] as JsonObject
  const draft: ExecutionEvidence = {
    evidence_id: 'evidence-1',
    sequence_no: 1,
    decision_id: String(decision['decision_id']),
    context_id: String(decision['context_id']),
    agreement_id: String(decision['agreement_id']),
    executor_sovereign_id: 'rotator',
    executed_capability: 'secret.rotate',
    execution_parameters: { secret_version: '7' },
    executed_at: String(decision['decision_made_at']),
    outcome: 'success',
    outcome_detail: null,
    prev_evidence_digest: null,
    resource_id: 'kv/api',
    resource_action: 'rotate',
    resource_sequence: 1,
    signature: null,
  }
  await writeFile(setup.path('execution.json'), writeJson(await signForm(executionEvidenceForm, draft, executor)))
})
afterAll(() => network.close())

describe('evidence submit, resource and vendor', () => {
  it('stores execution evidence once, without an operator key', async () => {
    const line = `evidence submit execution.json --url ${network.na.url}`
    const stored = await network.run(line)
    expect([stored.code, stored.stderr]).toEqual([0, ''])
    expect(stored.stdout).toMatch(/^Stored:\n/)
    expect((await network.run(line)).stdout).toMatch(/^Stored before, unchanged:/)
  })

  it('shows the history of a resource and of a vendor, and who verified it', async () => {
    const resource = await network.asOperator('evidence show --resource kv/api')
    expect([resource.code, resource.stderr]).toEqual([0, ''])
    expect(resource.stdout).toMatch(/ execution +success /)
    expect(resource.stdout).toContain('The authority found no failure in ')
    expect(resource.stdout).toContain('This command did not verify them.')
    expect((await network.asOperator('evidence show --vendor vendor-1')).stdout).toMatch(/ decision +authorized /)
    const unknown = await network.asOperator('evidence show --vendor other --json')
    expect([unknown.code, unknown.errorJson()]).toMatchObject([1, { error: { code: 'vendor_not_found' } }])
  })
})
