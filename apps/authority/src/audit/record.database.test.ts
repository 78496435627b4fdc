import { ManualClock, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

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

const refuse = (type: 'node_auth_failed' | 'heartbeat_rejected'): Promise<void> =>
  na.core.audit.recordRefusal({ type, details: { reason: 'invalid_signature' } })

describe('refused callers', () => {
  it('store at most 600 rows a minute of one type; the rest is counted', async () => {
    for (let i = 0; i < 605; i += 1) await refuse('node_auth_failed')
    expect(await countEvents('node_auth_failed')).toBe(600)
    expect((await na.request('GET', '/metrics')).text).toMatch(/^chancery_audit_refusals_not_recorded_total 5$/m)
    await refuse('heartbeat_rejected')
    expect(await countEvents('heartbeat_rejected')).toBe(1)
    clock.advance(61)
    await refuse('node_auth_failed')
    expect(await countEvents('node_auth_failed')).toBe(601)
  })
})
