import type { JsonObject, JsonValue } from '@chancery/protocol'
import { accepted, eventsOfCallers, refused, startTestAuthority } from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { activatePolicy, gate, intent, publishPolicy } from './intents.suite.ts'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
  await activatePolicy(na, await publishPolicy(na, { policy_id: 'spending' }))
})
afterAll(() => na.stop())

const limit = (max: number, members: JsonObject = {}): JsonObject =>
  intent({ policy_id: 'spending', gates: [gate({ config: { path: 'request_parameters.amount', max } })], ...members })
const spend = (amount: JsonValue): JsonObject => ({
  requested_capability: 'ledger.append',
  request_parameters: { amount },
})
const simulate = (body: JsonObject): Promise<TestResponse> =>
  na.as('standard')('POST', '/admin/boundary-policies/simulate', body)

describe('POST /admin/boundary-policies/simulate', () => {
  it('200: counts what a lower limit would deny, and shows some of it without the amounts', async () => {
    const contexts = [100, 700, 900, 4242, 'x'].map(spend)
    const answer = await simulate({ intent: limit(800), contexts })
    const denied = { authorized: false, denial_reason: "policy gate 'spending/limit' failed" }
    expect(accepted(answer)).toEqual({
      policy_id: 'spending',
      version: 2,
      active_set_healthy: true,
      candidate_set_healthy: true,
      total: 5,
      unchanged: 4,
      newly_allowed: 0,
      newly_denied: 1,
      newly_held: 0,
      sample: [
        { index: 2, change: 'newly_denied', active: { authorized: true, denial_reason: null }, candidate: denied },
      ],
      next_sample_cursor: null,
    })
    expect(answer.text).not.toContain('4242')
  })

  it('200: counts what a higher limit would allow', async () => {
    const contexts = [100, 1500, 2500].map(spend)
    expect(accepted(await simulate({ intent: limit(2000), contexts }))).toMatchObject({
      unchanged: 2,
      newly_allowed: 1,
      newly_denied: 0,
    })
  })

  it('200: evaluates claims, time and kind as the request states them', async () => {
    const gates = [
      gate({ gate_id: 'app', gate_type: 'attestation_claim.v1', config: { path: 'attributes.app', claim: 'apps' } }),
      gate({ gate_id: 'day', gate_type: 'time_window.v1', order: 1, config: { weekdays: [1] } }),
    ]
    const selector = { parent_kinds: ['attestation'] }
    const context = {
      requested_capability: 'secret.rotate',
      attributes: { app: 'billing' },
      request_parameters: { amount: 1 },
      requested_at: '2027-03-01T12:00:00Z',
    }
    const attestation = { subject_id: 'vendor-1', claims: { apps: ['billing'] } }
    const contexts = [
      { ...context, attestation },
      { ...context, attestation: { ...attestation, claims: {} } },
      { ...context, attestation, requested_at: '2027-03-02T12:00:00Z' },
      context,
    ]
    const body = { intent: intent({ policy_id: 'vendors', gates, selector }), contexts }
    const { sample } = accepted(await simulate(body))
    expect((sample as JsonObject[]).map((each) => each['index'])).toEqual([1, 2])
  })

  it('200: accepts 1000 requests, shows 20 changes, stores nothing and signs nothing', async () => {
    const before = await eventsOfCallers(na)
    const contexts = Array.from({ length: 1000 }, (_, i) => spend(i))
    const answer = accepted(await simulate({ intent: limit(499), contexts }))
    expect(answer).toMatchObject({ total: 1000, newly_denied: 500 })
    expect(answer['sample']).toHaveLength(20)
    expect(await eventsOfCallers(na)).toEqual(before)
    const rows = await na.core.database.read.selectFrom('boundary_policies').select('version').execute()
    expect(rows).toHaveLength(1)
  })

  it('200: evaluates the decisions in the evidence store', async () => {
    const other = await startTestAuthority({ settings: { EVIDENCE_STORE: 'on' } })
    try {
      const claims = { capabilities: ['pay'], apps: ['billing'] }
      const member = { subject_id: 'vendor', roles: ['role:client'], claims }
      const { attestation_id = null } = accepted(
        await other.as('privileged')('POST', '/admin/attestations', member),
        201,
      )
      for (const app of ['billing', 'payroll', 'billing'])
        accepted(
          await other.as('standard')('POST', '/admin/boundary/evaluate', {
            attestation_id,
            requested_capability: 'pay',
            context: { attributes: { app } },
          }),
          201,
        )
      const config = { path: 'attributes.app', claim: 'apps' }
      const candidate = intent({ gates: [gate({ gate_type: 'attestation_claim.v1', config })] })
      const ask = (decisions: JsonObject): Promise<TestResponse> =>
        other.as('standard')('POST', '/admin/boundary-policies/simulate', { intent: candidate, decisions })
      const all = accepted(await ask({}))
      expect(all).toMatchObject({ total: 3, newly_denied: 1, unchanged: 2 })
      const [changed] = all['sample'] as JsonObject[]
      expect(changed).toMatchObject({ index: 1, change: 'newly_denied', store_sequence: 3 })
      expect(accepted(await ask({ after_sequence: 3 }))).toMatchObject({ total: 1, last_sequence: 5, newly_denied: 0 })
      refused(await ask({ limit: 1001 }), 400, 'invalid_page')
      const newest = accepted(await ask({ newest: 2 }))
      expect(newest).toMatchObject({ total: 2, first_sequence: 3, last_sequence: 5, newly_denied: 1 })
      expect(newest['sample']).toMatchObject([{ index: 1, store_sequence: 3 }])
      refused(await ask({ newest: 1001 }), 400, 'invalid_page')
      refused(await ask({ newest: 0 }), 400, 'invalid_page')
      refused(await ask({ newest: 1, limit: 1 }), 400, 'invalid_input')
      refused(await ask({ newest: 1, after_sequence: 1 }), 400, 'invalid_input')
    } finally {
      await other.stop()
    }
  })

  it('200: pages of the sample have every change once, also when decisions are stored in between', async () => {
    const other = await startTestAuthority({ settings: { EVIDENCE_STORE: 'on' } })
    try {
      const { attestation_id = null } = accepted(
        await other.as('privileged')('POST', '/admin/attestations', {
          subject_id: 'vendor',
          roles: ['role:client'],
          claims: { capabilities: ['pay'] },
        }),
        201,
      )
      const decide = async (amount: number): Promise<void> => {
        const context = { request_parameters: { amount } }
        const body = { attestation_id, requested_capability: 'pay', context }
        accepted(await other.as('standard')('POST', '/admin/boundary/evaluate', body), 201)
      }
      for (let amount = 1; amount <= 7; amount += 1) await decide(amount)
      const ask = async (members: JsonObject): Promise<JsonObject> => {
        const body = { intent: limit(2), decisions: { newest: 7 }, sample_limit: 2, ...members }
        return accepted(await other.as('standard')('POST', '/admin/boundary-policies/simulate', body))
      }
      const seen: unknown[] = []
      for (let page = await ask({}); ;) {
        expect(page).toMatchObject({ total: 7, newly_denied: 5, last_sequence: 13 })
        seen.push(...(page['sample'] as readonly JsonObject[]).map((each) => each['store_sequence']))
        const sample_cursor = page['next_sample_cursor'] ?? null
        if (sample_cursor === null) break
        await decide(9)
        page = await ask({ sample_cursor })
      }
      expect(seen).toEqual([13, 11, 9, 7, 5])
    } finally {
      await other.stop()
    }
  })

  it.each<[string, JsonObject]>([
    ['0', { sample_limit: 0 }],
    ['201', { sample_limit: 201 }],
    ['a text', { sample_limit: '20' }],
    ['a number as cursor', { sample_cursor: 1 }],
    ['an empty cursor', { sample_cursor: '' }],
    ['a cursor beyond the numbers', { sample_cursor: '99999999999999999999.1' }],
    ['a cursor with more', { sample_cursor: '1.1.1' }],
  ])('400: a sample of %s', async (_name, members) => {
    refused(await simulate({ intent: limit(1), contexts: [spend(1)], ...members }), 400, 'invalid_page')
  })

  it('200: shows up to 200 changes of given requests, and continues after them', async () => {
    const contexts = Array.from({ length: 300 }, () => spend(900))
    const first = accepted(await simulate({ intent: limit(1), contexts, sample_limit: 200 }))
    expect(first['sample']).toHaveLength(200)
    const sample_cursor = first['next_sample_cursor'] ?? null
    const second = accepted(await simulate({ intent: limit(1), contexts, sample_limit: 200, sample_cursor }))
    expect((second['sample'] as readonly JsonObject[]).map((each) => each['index'])).toEqual(
      Array.from({ length: 100 }, (_, at) => 200 + at),
    )
    expect(second['next_sample_cursor']).toBeNull()
  })

  it('404: has no decisions to simulate while the evidence store is disabled', async () => {
    refused(await simulate({ intent: limit(1), decisions: {} }), 404, 'evidence_store_disabled')
  })

  it.each<[string, JsonObject, string]>([
    ['contexts and decisions', { intent: limit(1), contexts: [spend(1)], decisions: {} }, 'invalid_input'],
    ['no intent', { contexts: [spend(1)] }, 'missing_policy'],
    ['no contexts', { intent: limit(1) }, 'invalid_input'],
    ['an empty list', { intent: limit(1), contexts: [] }, 'invalid_input'],
    ['1001 contexts', { intent: limit(1), contexts: Array.from({ length: 1001 }, () => spend(1)) }, 'invalid_input'],
    ['an unknown member', { intent: limit(1), contexts: [spend(1)], other: 1 }, 'unexpected_field'],
    ['a context without capability', { intent: limit(1), contexts: [{}] }, 'invalid_context'],
    [
      'a context with a mistyped member',
      { intent: limit(1), contexts: [{ ...spend(1), params: {} }] },
      'invalid_context',
    ],
    ['an unreadable time', { intent: limit(1), contexts: [{ ...spend(1), requested_at: 'x' }] }, 'invalid_context'],
    ['a policy with issues', { intent: limit(1, { gates: [] }), contexts: [spend(1)] }, 'boundary_policy_invalid'],
    ['a version chosen by the caller', { intent: limit(1, { version: 5 }), contexts: [spend(1)] }, 'unexpected_field'],
  ])('400: refuses %s', async (_title, body, code) => {
    refused(await simulate(body), 400, code)
  })

  it('401: only for operators', async () => {
    const body = { intent: limit(1), contexts: [spend(1)] }
    refused(await na.request('POST', '/admin/boundary-policies/simulate', { body }), 401, 'admin_auth_failed')
  })
})
