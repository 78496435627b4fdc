import type { JsonObject } from '@chancery/protocol'
import { accepted } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let own: RealNetwork
beforeAll(async () => {
  own = await openNetwork({ EVIDENCE_STORE: 'on' })
  const send = own.na.as('privileged')
  const post = async (path: string, body: JsonObject, status = 201): Promise<JsonObject> =>
    accepted(await send('POST', path, body), status)
  const budget = { measure: { kind: 'count' }, limit: 1, window: { kind: 'calendar', unit: 'year' } }
  const gates = [{ gate_id: 'g', gate_type: 'budget.v1', order: 1, config: budget }]
  const valid = { valid_from: '2020-01-01T00:00:00Z', valid_until: '2090-01-01T00:00:00Z' }
  await post('/admin/boundary-policies', {
    policy_id: 'pay',
    ...valid,
    selector: { capabilities: ['pay.send'] },
    gates,
  })
  await post('/admin/boundary-policies/pay/activate', { version: 1 }, 200)
  const claims = { capabilities: ['pay.send'] }
  const { attestation_id = null } = await post('/admin/attestations', {
    subject_id: 'agent-7',
    roles: ['role:client'],
    claims,
  })
  await post('/admin/boundary/evaluate', { attestation_id, requested_capability: 'pay.send' })
})
afterAll(() => own.close())

describe('budget', () => {
  it('list shows limit and use, and filters by state', async () => {
    const { code, stdout } = await own.asOperator('budget list')
    expect(code).toBe(0)
    expect(stdout).toMatch(/policy:pay\/g +year:\d{4} +\{\} +1 +0 +1 +[0-9a-f]{64}/)
    expect((await own.asOperator('budget list --state exhausted --json')).json()['count']).toBe(1)
    expect((await own.asOperator('budget list --state open')).stdout).toContain('No budget has an open window.')
    expect((await own.asOperator('budget list --source policy:pay/other --all --json')).json()['count']).toBe(0)
  })

  it('show names the decisions that used it', async () => {
    const key = (await own.asOperator('budget list --quiet')).stdout.trim()
    const { stdout } = await own.asOperator(`budget show ${key}`)
    expect(stdout).toMatch(/remaining +0\n/)
    expect(stdout).toMatch(/DECISION +ENTRY +ASKED +STATE\n.+ 1 +counted/)
    const { code, errorJson } = await own.asOperator(`budget show ${'0'.repeat(64)} --json`)
    expect([code, errorJson()]).toMatchObject([4, { error: { code: 'budget_not_found' } }])
  })
})
