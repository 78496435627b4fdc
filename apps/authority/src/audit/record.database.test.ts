import { writeInstant } from '@chancery/protocol'
import { ManualClock, accepted, detailsOf, eventsOf, refused, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

let na: TestAuthority
const clock = new ManualClock()
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

async function countEvents(type: string): Promise<number> {
  const row = await na.core.database.read
    .selectFrom('audit_events')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('event_type', '=', type)
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

const refuse = (
  type: 'node_auth_failed' | 'heartbeat_rejected' | 'wit_rejected',
  remote_addr: string,
  key?: string,
): Promise<void> => {
  const details = { reason: 'invalid_signature', remote_addr }
  return na.core.audit.recordRefusal({ type, details }, { limitKey: remote_addr }, key)
}

describe('the trace of a caller', () => {
  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
  const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`
  const invite = (headers: Record<string, string | readonly string[]>) =>
    na.as('standard')('POST', '/admin/invite', { roles: ['role:client'] }, { headers })

  it('is in the event of a change', async () => {
    const answer = await invite({ traceparent })
    accepted(answer, 201)
    const [event] = await eventsOf(na, answer)
    expect(detailsOf(event)).toMatchObject({ trace_id: TRACE, key_id: 'op-standard' })
  })

  it('is in the event of a refused caller', async () => {
    const headers = { traceparent, 'X-Admin-Signature': 'A'.repeat(86) + '==' }
    const answer = await invite(headers)
    refused(answer, 401, 'admin_auth_failed')
    const [event] = await eventsOf(na, answer)
    expect([event?.['event_type'], detailsOf(event)['trace_id']]).toEqual(['admin_auth_failed', TRACE])
  })

  it.each<[string, Record<string, string | readonly string[]>]>([
    ['is missing', {}],
    ['has another form', { traceparent: traceparent.toUpperCase() }],
    ['is sent twice', { traceparent: [traceparent, traceparent] }],
  ])('is not in it when the header %s', async (_name, headers) => {
    const answer = await invite(headers)
    accepted(answer, 201)
    const [event] = await eventsOf(na, answer)
    expect(Object.keys(detailsOf(event)).sort()).toEqual([
      'key_id',
      'recipient_public_key',
      'remote_addr',
      'request_id',
      'roles',
      'token_fingerprint',
    ])
  })
})

describe('refused callers', () => {
  it('store at most 60 rows a minute of one address and 600 of one type; the rest is counted', async () => {
    for (let i = 0; i < 65; i += 1) await refuse('node_auth_failed', '10.0.0.1')
    expect(await countEvents('node_auth_failed')).toBe(60)
    for (let i = 0; i < 545; i += 1) await refuse('node_auth_failed', `10.0.${1 + (i % 100)}.1`)
    expect(await countEvents('node_auth_failed')).toBe(600)
    expect((await na.request('GET', '/metrics')).text).toMatch(/^chancery_audit_refusals_not_recorded_total 10$/m)
    await refuse('heartbeat_rejected', '10.0.0.1')
    expect(await countEvents('heartbeat_rejected')).toBe(1)
    clock.advance(61)
    await refuse('node_auth_failed', '10.0.0.1')
    expect(await countEvents('node_auth_failed')).toBe(601)
  })

  it('have other room where their key is proved, with a share for each key', async () => {
    for (let i = 0; i < 700; i += 1) await refuse('wit_rejected', `10.1.${i % 200}.1`)
    expect(await countEvents('wit_rejected')).toBe(600)
    for (let i = 0; i < 65; i += 1) await refuse('wit_rejected', '10.1.0.1', 'a key')
    expect(await countEvents('wit_rejected')).toBe(660)
    await refuse('wit_rejected', '10.1.0.1', 'another key')
    expect(await countEvents('wit_rejected')).toBe(661)
  })

  it('of one address end for the day, and one event says how many had none', async () => {
    clock.advance(86_400)
    await na.core.audit.recordLeftOut()
    const before = (await na.auditEvents('refusals_not_recorded')).length
    for (let minute = 0; minute < 40; minute += 1) {
      for (let i = 0; i < 60; i += 1) await refuse('heartbeat_rejected', '10.2.0.1')
      clock.advance(61)
    }
    expect(await countEvents('heartbeat_rejected')).toBe(2001)
    await na.core.audit.recordLeftOut()
    expect(await na.auditEvents('refusals_not_recorded')).toHaveLength(before)
    const day = writeInstant(clock.now()).slice(0, 10)
    clock.advance(86_400)
    const insert = vi.spyOn(na.core.database, 'run').mockRejectedValueOnce(new Error('the database is away'))
    await expect(na.core.audit.recordLeftOut()).rejects.toThrow('away')
    insert.mockRestore()
    await na.core.audit.recordLeftOut()
    await na.core.audit.recordLeftOut()
    const events = await na.auditEvents('refusals_not_recorded')
    expect(events).toHaveLength(before + 1)
    expect(detailsOf(events.at(-1))).toEqual({ day, counts: { heartbeat_rejected: 400 } })
  })
})
