import { randomUUID } from 'node:crypto'
import type { JsonObject } from '@chancery/protocol'
import { accepted, refused, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'
import { COUNT, SETTINGS, SUM, limited, openLimited } from './budgets.suite.ts'

let store: Awaited<ReturnType<typeof openLimited>>
beforeAll(async () => {
  store = await openLimited()
})
afterAll(() => store.na.stop())

const authorized = async (limit: Awaited<ReturnType<typeof limited>>, times: number): Promise<boolean[]> => {
  const out: boolean[] = []
  for (let at = 0; at < times; at += 1) out.push((await limit.decide()).decision.authorized)
  return out
}

describe('counting', () => {
  it('allows what the limit allows, and denies the rest with a signed decision', async () => {
    const limit = await limited(store.na, COUNT)
    expect(await authorized(limit, 3)).toEqual([true, true, false])
    const { decision, step } = await limit.decide()
    expect(decision.denial_reason).toBe(`policy gate '${limit.policy_id}/g' failed`)
    expect(step.inputs).toMatchObject({ used_before: '2', asked: '1', remaining: '0', limit: '2', replaces: null })
    const { decision: wire } = accepted(await limit.send(), 201)
    const verdict = accepted(await store.na.request('POST', '/boundary/verify', { body: { decision: wire ?? null } }))
    expect(verdict).toMatchObject({ accepted: true, authorized: false, reason: 'unauthorized_policy_gate_failure' })
  })

  it('gives each place once to requests at the same time, and signs the numbers in the order of the store', async () => {
    const limit = await limited(store.na, { ...COUNT, limit: 7 })
    const answers = await Promise.all(Array.from({ length: 40 }, () => limit.decide()))
    const allowed = answers.filter(({ decision }) => decision.authorized)
    expect(allowed.map(({ step }) => Number(step.inputs['used_before'])).toSorted((a, b) => a - b)).toEqual([
      0, 1, 2, 3, 4, 5, 6,
    ])
    expect(await store.rows(limit.source)).toMatchObject([{ used: '7', remaining: '0', reserved: '0' }])
    expect((await store.recompute()).findings).toEqual([])
  })

  it('does not count a denial, by the budget itself or by another gate', async () => {
    const small = await limited(store.na, SUM)
    expect((await small.decide({ amount: '10.01' })).decision.authorized).toBe(false)
    expect(await store.rows(small.source)).toEqual([])
    expect((await small.decide({ amount: '10.00' })).step.inputs['used_before']).toBe('0.00')
    const bound = {
      gate_id: 'max',
      gate_type: 'max_value.v1',
      order: 90,
      config: { path: 'request_parameters.n', max: 5 },
    }
    const both = await limited(store.na, COUNT, {}, [bound])
    expect((await both.decide({ n: 9 })).decision.authorized).toBe(false)
    expect(await store.rows(both.source)).toEqual([])
    expect((await both.decide({ n: 1 })).step.inputs['used_before']).toBe('0')
  })

  it('continues under a new limit, also a lower one, and begins again with another window', async () => {
    const limit = await limited(store.na, COUNT)
    expect(await authorized(limit, 3)).toEqual([true, true, false])
    accepted(await limit.activate(await limit.publish({ ...COUNT, limit: 3 })))
    expect(await authorized(limit, 2)).toEqual([true, false])
    accepted(await limit.activate(await limit.publish({ ...COUNT, limit: 1 })))
    const lower = await limit.decide()
    expect([lower.decision.authorized, lower.step.inputs['used_before'], lower.step.inputs['remaining']]).toEqual([
      false,
      '3',
      '0',
    ])
    const month = { ...COUNT, window: { kind: 'calendar', unit: 'month' } }
    const answer = accepted(await limit.activate(await limit.publish(month)))
    expect(answer['warnings']).toMatchObject([{ code: 'budget_restarts' }])
    expect((await limit.decide()).step.inputs['used_before']).toBe('0')
  })

  it('has a counter for each subject, and none for a subject that the basis does not have', async () => {
    const limit = await limited(store.na, { ...COUNT, limit: 1, per: ['subject'] })
    const other = await limit.attest('agent-8')
    expect(await authorized(limit, 2)).toEqual([true, false])
    expect((await limit.decide({}, other)).decision.authorized).toBe(true)
    const byNode = await limited(store.na, { ...COUNT, per: ['node'] })
    const { decision, step } = await byNode.decide()
    expect([decision.authorized, step.inputs['budget_key']]).toEqual([false, null])
  })

  it('counts above the limit in observe mode, and denies nothing', async () => {
    const limit = await limited(store.na, COUNT, { mode: 'observe' })
    expect(await authorized(limit, 3)).toEqual([true, true, true])
    expect((await limit.decide()).step).toMatchObject({ result: false, inputs: { used_before: '3' } })
  })

  it('counts a repeated idempotency key once', async () => {
    const limit = await limited(store.na, COUNT)
    const attestation_id = await limit.attest('agent-9')
    const body = { attestation_id, requested_capability: limit.capability, context: {} }
    const options = { headers: { 'Idempotency-Key': randomUUID() } }
    const send = () => store.na.as('standard')('POST', '/admin/boundary/evaluate', body, options)
    const [first, ...others] = await Promise.all(Array.from({ length: 8 }, send))
    for (const other of others) expect(other.text).toBe(first?.text)
    expect(await store.rows(limit.source)).toMatchObject([{ used: '1' }])
  })

  it('begins a new window with its time, and finds the earlier one when the clock is set back', async () => {
    const other = await openLimited()
    const limit = await limited(other.na, { ...COUNT, limit: 1, window: { kind: 'calendar', unit: 'hour' } })
    expect(await authorized(limit, 2)).toEqual([true, false])
    other.clock.advance(3600)
    expect(await authorized(limit, 2)).toEqual([true, false])
    other.clock.set('2026-03-05T12:00:00Z')
    expect(await authorized(limit, 1)).toEqual([false])
    await other.na.stop()
  })

  it('is not available for a new key above the limit of keys, and goes on for known ones', async () => {
    const other = await openLimited({ NA_BUDGETS_MAX: '1' })
    const limit = await limited(other.na, { ...COUNT, per: ['subject'] })
    expect((await limit.decide()).decision.authorized).toBe(true)
    const { decision, step } = await limit.decide({}, await limit.attest('agent-8'))
    expect([decision.policy_binding?.gate_evaluations.at(-1)?.outcome, step.inputs['used_before']]).toEqual([
      'gate_error',
      null,
    ])
    expect((await limit.decide()).decision.authorized).toBe(true)
    await other.na.stop()
  })
})

describe('GET /admin/budgets', () => {
  it('200: lists counters by source, requester and state, page by page', async () => {
    const limit = await limited(store.na, { ...SUM, per: ['subject'], visible: true })
    await limit.decide({ amount: '9.50' })
    const [row] = await store.rows(limit.source)
    expect(row).toMatchObject({
      source: limit.source,
      per: { subject: [store.na.genesis.network_name, 'agent-7'] },
      window: { name: 'year:2026' },
      limit: '10.00',
      counts: 'on_allow',
      used: '9.50',
      reserved: '0.00',
      remaining: '0.50',
      visible: true,
    })
    const all: string[] = []
    for (let cursor: unknown = undefined; cursor !== null;) {
      const query = cursor === undefined ? '' : `&cursor=${String(cursor)}`
      const page = accepted(await store.get(`/admin/budgets?requester=agent-7&limit=2${query}`))
      for (const each of page['budgets'] as unknown as JsonObject[]) all.push(String(each['source']))
      cursor = page['next_cursor']
    }
    expect(all).toEqual(all.toSorted())
    expect(all).toContain(limit.source)
    const warned = accepted(await store.get('/admin/budgets?state=warning'))['budgets'] as unknown as JsonObject[]
    expect(warned.map((each) => each['source'])).toContain(limit.source)
    const used = accepted(await store.get('/admin/budgets?state=exhausted'))['budgets'] as unknown as JsonObject[]
    expect(used.map((each) => each['source'])).not.toContain(limit.source)
  })

  it('400: an unknown query or cursor; 401 without a key', async () => {
    refused(await store.get('/admin/budgets?sorce=x'), 400, 'unexpected_field')
    refused(await store.get('/admin/budgets?cursor=x'), 400, 'invalid_page')
    refused(await store.get('/admin/budgets?state=full'), 400, 'invalid_input')
    refused(await store.na.request('GET', '/admin/budgets'), 401, 'admin_auth_failed')
  })
})

describe('GET /admin/budgets/{budget_key}', () => {
  it('200: the newest decisions first; 404 for another key', async () => {
    const limit = await limited(store.na, SUM)
    const [first, second] = [await limit.decide({ amount: 1 }), await limit.decide({ amount: 2 })]
    const [row] = await store.rows(limit.source)
    const shown = accepted(await store.get(`/admin/budgets/${String(row?.['budget_key'])}`))
    expect(shown['decisions']).toMatchObject([
      { decision_id: second.decision.decision_id, asked: '2.00', state: 'counted' },
      { decision_id: first.decision.decision_id, asked: '1.00', state: 'counted' },
    ])
    refused(await store.get(`/admin/budgets/${'0'.repeat(64)}`), 404, 'budget_not_found')
    refused(await store.get('/admin/budgets/x'), 404, 'budget_not_found')
  })
})

describe('POST /admin/budgets/verify', () => {
  it('200: a deleted and an edited counter are repaired, audited and reported', async () => {
    const [deleted, edited] = [await limited(store.na, COUNT), await limited(store.na, COUNT)]
    for (const limit of [deleted, edited]) expect(await authorized(limit, 2)).toEqual([true, true])
    expect(await store.verify()).toMatchObject({ verified: true, mismatches: [] })
    const keys = [(await store.rows(deleted.source))[0], (await store.rows(edited.source))[0]].map((row) =>
      String(row?.['budget_key']),
    )
    const rows = rowsOf(store.na.core.database)
    for (const table of ['budgets', 'budget_sums', 'budget_uses'] as const)
      await rows
        .deleteFrom(table)
        .where('budget_key', '=', keys[0] ?? '')
        .execute()
    await rows
      .updateTable('budget_sums')
      .set({ amount: '0' })
      .where('budget_key', '=', keys[1] ?? '')
      .execute()
    const check = await store.verify()
    expect(check['verified']).toBe(false)
    expect(check['mismatches']).toHaveLength(2)
    for (const budget_key of keys)
      expect(check['mismatches']).toContainEqual({ budget_key, window: 'year:2026', stored: '0', computed: '2' })
    expect(await store.findings('budget_state')).toHaveLength(1)
    expect(await store.events('budget_state_repaired')).toHaveLength(2)
    for (const limit of [deleted, edited]) expect(await authorized(limit, 1)).toEqual([false])
    expect(await store.verify()).toMatchObject({ verified: true })
    expect(await store.findings('budget_state')).toEqual([])
  })

  it('keeps budgets closed while the counters lack entries, until they are computed again', async () => {
    const limit = await limited(store.na, COUNT)
    expect(await authorized(limit, 1)).toEqual([true])
    await rowsOf(store.na.core.database).updateTable('evidence_head').set({ budget_sequence: 1 }).execute()
    const { decision } = await limit.decide()
    expect(decision.policy_binding?.gate_evaluations.at(-1)?.outcome).toBe('gate_error')
    await store.verify()
    expect((await limit.decide()).step.inputs['used_before']).toBe('1')
  })

  it('409 and a refused activation where the store is off', async () => {
    const off = await startTestAuthority({ settings: { ...SETTINGS, EVIDENCE_STORE: 'off' } })
    refused(await off.as('standard')('POST', '/admin/budgets/verify', {}), 409, 'evidence_store_required')
    await expect(limited(off, COUNT)).rejects.toThrow(/evidence_store_required/)
    const treaty = {
      subject_sovereign_id: 'BETA',
      subject_public_keys: ['tKuCPvDZZd8broYS70S4S1+zbk2Hv8ntbV4wsa+TDts='],
    }
    const budgets = [{ budget_id: 'b', capabilities: ['pay.*'], ...COUNT }]
    const scope = { allowed_roles: ['role:client'], claims: { budgets } }
    refused(
      await off.as('privileged')('POST', '/admin/recognition-treaties', { ...treaty, scope }),
      409,
      'evidence_store_required',
    )
    await off.stop()
  })
})

describe('what an operator sees', () => {
  it('a finding and one event at each threshold, without an amount', async () => {
    const limit = await limited(store.na, SUM)
    await limit.decide({ amount: '7.99' })
    expect((await store.findings('budget')).filter((each) => each['about'] === limit.source)).toEqual([])
    await limit.decide({ amount: '0.01' })
    expect(await store.findings('budget')).toContainEqual(
      expect.objectContaining({ status: 'warn', about: limit.source }),
    )
    for (const amount of ['1.00', '1.00', '1.00']) await limit.decide({ amount })
    expect(await store.findings('budget')).toContainEqual(
      expect.objectContaining({ status: 'bad', about: limit.source, at: '2027-01-01T00:00:00Z' }),
    )
    for (const type of ['budget_warning', 'budget_exhausted']) {
      const mine = (await store.events(type)).filter((event) => JSON.stringify(event).includes(limit.policy_id))
      expect(mine).toHaveLength(1)
      expect(JSON.stringify(mine)).not.toContain('8.00')
    }
  })

  it('that decisions without policies go around budgets', async () => {
    expect(await store.findings('budget_bypass')).toHaveLength(1)
  })

  it('a whole store that follows, and that retention keeps what a window counts', async () => {
    expect(await store.recompute()).toMatchObject({ findings: [] })
    expect(accepted(await store.get('/admin/evidence/verify'))).toMatchObject({ verified: true })
    store.clock.advance(3 * 86_400)
    const body = { older_than_days: 1 }
    const answer = accepted(await store.na.as('privileged')('POST', '/admin/evidence/retention/apply', body))
    expect(answer['stopped_by']).toBe('open_budget')
  })
})
