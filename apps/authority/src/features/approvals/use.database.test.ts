import type { JsonObject } from '@chancery/protocol'
import { accepted, refused } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Holding, approvalGate, detailOf, isAllowed, openHolding } from './approvals.suite.ts'

// Holds: a held request is authorized once, by its own caller, with its own parameters, in its time, and never else.

let h: Holding
beforeAll(async () => {
  h = await openHolding()
})
afterAll(() => h.na.stop())

const budget = { gate_id: 'cap', gate_type: 'budget.v1', order: 1 }
const one = { measure: { kind: 'count' }, limit: 1, window: { kind: 'calendar', unit: 'year' } }

describe('a held request', () => {
  it('201: is a signed denial with its approval, and opens one however often it is sent', async () => {
    const agent = await h.agent(await h.rule(approvalGate()))
    const answers = await Promise.all(Array.from({ length: 5 }, () => agent.send({ amount: 7 })))
    expect(answers.map(isAllowed)).toEqual([false, false, false, false, false])
    const ids = new Set(answers.map(({ approval }) => (approval as JsonObject)['approval_id']))
    expect(ids.size).toBe(1)
    expect(detailOf(answers[0] ?? {})).toBe(`approval_required: ${[...ids].join('')}`)
    expect(await h.events([...ids].join(''))).toMatchObject([{ event: 'requested', state: 'pending' }])
  })

  it('201: is authorized once after the approval, and the evidence has both', async () => {
    const agent = await h.agent(await h.rule(approvalGate()))
    const approval_id = await agent.hold({ amount: 7 })
    accepted(await h.state(approval_id, 'privileged'))
    expect(detailOf(await agent.send({ amount: 7 }))).toBe(`approval_required: ${approval_id}`)
    const uses = await Promise.all(Array.from({ length: 8 }, () => agent.send({ amount: 7 }, { approval_id })))
    expect(uses.filter(isAllowed)).toHaveLength(1)
    expect(uses.filter((each) => detailOf(each) === `approval_used: ${approval_id}`)).toHaveLength(7)
    expect((await h.events(approval_id)).map(({ event }) => event)).toEqual(['requested', 'approved', 'used'])
    expect(accepted(await h.na.as('standard')('GET', '/admin/evidence/verify'))).toMatchObject({ failures: [] })
  })

  it.each<[string, JsonObject, JsonObject]>([
    ['another amount', { amount: 8, payee: 'A' }, {}],
    ['a parameter more', { amount: 7, payee: 'A', more: 1 }, {}],
    ['a parameter less', { amount: 7 }, {}],
    ['another resource', { amount: 7, payee: 'A' }, { resource_id: 'r-1' }],
  ])('201: %s is approval_mismatch, and the approval stays', async (_what, parameters, members) => {
    const agent = await h.agent(await h.rule(approvalGate()))
    const approval_id = await agent.hold({ amount: 7, payee: 'A' })
    accepted(await h.state(approval_id, 'privileged'))
    expect(detailOf(await agent.send(parameters, { ...members, approval_id }))).toBe('approval_mismatch')
    expect((await h.show(approval_id))['state']).toBe('approved')
  })

  it('201: another caller of the same capability gets approval_mismatch, as for an unknown id', async () => {
    const capability = await h.rule(approvalGate())
    const approval_id = await (await h.agent(capability)).hold({ amount: 7 })
    accepted(await h.state(approval_id, 'privileged'))
    const other = await h.agent(capability)
    expect(detailOf(await other.send({ amount: 7 }, { approval_id }))).toBe('approval_mismatch')
    const unknown = 'a99c0000-0000-4000-8000-00000000ffff'
    expect(detailOf(await other.send({ amount: 7 }, { approval_id: unknown }))).toBe('approval_mismatch')
  })

  it('400: another form of approval_id', async () => {
    const agent = await h.agent(await h.rule(approvalGate()))
    const body = { requested_capability: 'x', attestation_id: 'a', cert_id: 'c', approval_id: 'no-uuid' }
    refused(await agent.post('/boundary/request', 'boundary-request', body), 400, 'invalid_approval_id')
  })
})

describe('the time of an approval', () => {
  it('201: ends at expires_at in every check, and the job writes it down and opens the way for the next', async () => {
    const agent = await h.agent(await h.rule([approvalGate({ expires_seconds: 60 }), { ...budget, config: one }]))
    const approval_id = await agent.hold({ n: 1 })
    h.clock.advance(60)
    expect((await h.show(approval_id))['state']).toBe('expired')
    expect(refused(await h.state(approval_id, 'privileged'), 409, 'approval_closed')['details']).toEqual({
      state: 'expired',
    })
    expect(detailOf(await agent.send({ n: 1 }, { approval_id }))).toBe(`approval_expired: ${approval_id}`)
    const next = await agent.hold({ n: 1 })
    expect(next).not.toBe(approval_id)
    expect((await h.events(approval_id)).map(({ event, cause }) => [event, cause])).toEqual([
      ['requested', null],
      ['expired', 'time_limit'],
    ])
  })

  it('201: ends at use_until; the job writes use_limit', async () => {
    const agent = await h.agent(await h.rule(approvalGate({ use_within_seconds: 30 })))
    const approval_id = await agent.hold({ n: 1 })
    accepted(await h.state(approval_id, 'privileged'))
    h.clock.advance(31)
    expect(detailOf(await agent.send({ n: 1 }, { approval_id }))).toBe(`approval_expired: ${approval_id}`)
    const job = h.na.features.approvals.jobs.find(({ name }) => name === 'approval-expiry')
    await job?.run(new AbortController().signal)
    expect((await h.events(approval_id)).at(-1)).toMatchObject({ event: 'expired', cause: 'use_limit' })
  })
})

describe('what changed meanwhile', () => {
  it('201: another policy version makes the approval stale and cancels it', async () => {
    const capability = await h.rule(approvalGate())
    const agent = await h.agent(capability)
    const approval_id = await agent.hold({ n: 1 })
    accepted(await h.state(approval_id, 'privileged'))
    const { requirements } = (await h.show(approval_id))['approval_request'] as unknown as {
      requirements: { policy_id: string }[]
    }
    const policy_id = requirements[0]?.policy_id ?? ''
    const gates = [approvalGate({ title: 'Another title' })]
    const window = { valid_from: '2025-01-01T00:00:00Z', valid_until: '2030-01-01T00:00:00Z' }
    const as = h.na.as('privileged')
    const body = { policy_id, ...window, selector: { capabilities: [capability] }, gates }
    accepted(await as('POST', '/admin/boundary-policies', body), 201)
    accepted(await as('POST', `/admin/boundary-policies/${policy_id}/activate`, { version: 2 }))
    expect(detailOf(await agent.send({ n: 1 }, { approval_id }))).toBe(`approval_stale: ${approval_id}`)
    expect(await h.show(approval_id)).toMatchObject({ state: 'cancelled', cause: 'policy_changed' })
  })

  it('201: a gate that denies at the use leaves the approval as it is', async () => {
    const max = {
      gate_id: 'max',
      gate_type: 'max_value.v1',
      order: 9,
      config: { path: 'request_parameters.n', max: 5 },
    }
    const agent = await h.agent(await h.rule([approvalGate(), max]))
    const answer = await agent.send({ n: 9 })
    expect([detailOf(answer), answer['approval']]).toEqual(['approval_not_reached', undefined])
  })
})

describe('a budget of a held request', () => {
  it.each<[string, (id: string, agent: Awaited<ReturnType<Holding['agent']>>) => Promise<unknown>]>([
    ['a denial', (id) => h.state(id, 'privileged', { verdict: 'deny' })],
    ['the asker', (approval_id, agent) => agent.post('/approvals/cancel', 'approval-cancel', { approval_id })],
    ['its time', () => Promise.resolve(h.clock.advance(61))],
  ])('201: is reserved, and released by %s', async (_what, end) => {
    const agent = await h.agent(await h.rule([approvalGate({ expires_seconds: 60 }), { ...budget, config: one }]))
    const id = await agent.hold({ n: 1 })
    expect(detailOf(await agent.send({ n: 2 }))).toBe('approval_not_reached')
    await end(id, agent)
    expect(await agent.hold({ n: 3 })).not.toBe(id)
  })

  it('201: is counted at the use, without its own reservation', async () => {
    const agent = await h.agent(await h.rule([approvalGate(), { ...budget, config: one }]))
    const approval_id = await agent.hold({ n: 1 })
    accepted(await h.state(approval_id, 'privileged'))
    expect(isAllowed(await agent.send({ n: 1 }, { approval_id }))).toBe(true)
    expect(detailOf(await agent.send({ n: 2 }))).toBe('approval_not_reached')
  })
})

// Last: the clock does not go back.
describe('an approval that ended', () => {
  it('removes an approval 90 days after its end', async () => {
    const agent = await h.agent(await h.rule(approvalGate()))
    const approval_id = await agent.hold({ n: 1 })
    accepted(await h.state(approval_id, 'privileged', { verdict: 'deny' }))
    h.clock.advance(91 * 86_400)
    const job = h.na.features.approvals.jobs.find(({ name }) => name === 'approval-expiry')
    await job?.run(new AbortController().signal)
    refused(await h.na.as('standard')('GET', `/admin/approvals/${approval_id}`), 404, 'approval_not_found')
  })
})
