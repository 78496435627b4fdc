import { ManualClock, accepted, refused, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let na: TestAuthority
const clock = new ManualClock('2026-03-01T12:00:00Z')
beforeAll(async () => {
  const operators = { privileged: 'privileged', standard: 'standard', unused: 'standard' } as const
  const settings = { NA_CLOCK_CHECK: 'off', NA_ALLOWED_ROLES: 'role:client,role:crane' }
  na = await startTestAuthority({ clock, operators, settings })
})
afterAll(() => na.stop())

const bodyOf = (response: TestResponse) => accepted(response) as Record<string, unknown>

describe('GET /admin/whoami', () => {
  it('200: gives the calling key, what is left of its limits, and the settings of the authority', async () => {
    accepted(await na.as('standard')('GET', '/admin/policy/history'))
    const body = bodyOf(await na.as('standard')('GET', '/admin/whoami'))
    expect(body).toMatchObject({
      key_id: 'op-standard',
      tier: 'standard',
      network: 'TEST-NET',
      server_time: '2026-03-01T12:00:00Z',
      allowed_roles: ['role:client', 'role:crane'],
      heartbeat_seconds: 60,
      silent_after_seconds: 300,
      renewal_grace_seconds: 900,
      passkeys: true,
    })
    const limits = body['limits'] as Record<string, { limit: number; left: number }>
    expect(limits['operator_read']).toMatchObject({ limit: 300, left: 299, counted_by: 'operator key' })
    expect(limits['operator_decision']).toMatchObject({ counted_by: 'operator key' })
    expect(limits['admin']?.left).toBe((limits['admin']?.limit ?? 0) - 1)
    expect(accepted(await na.as('privileged')('GET', '/admin/whoami'))).toMatchObject({ tier: 'privileged' })
  })

  it('400 unexpected_field, 401 without a signature', async () => {
    refused(await na.as('standard')('GET', '/admin/whoami?verbose=1'), 400, 'unexpected_field')
    refused(await na.request('GET', '/admin/whoami'), 401, 'admin_auth_failed')
  })
})

describe('GET /admin/operator-keys', () => {
  it('200: lists keys by id with the day of the last use, which reads count for', async () => {
    clock.advance(86_400)
    accepted(await na.as('standard')('GET', '/admin/whoami'))
    const body = bodyOf(await na.as('privileged')('GET', '/admin/operator-keys'))
    const keys = body['operator_keys'] as { key_id: string }[]
    expect(keys.map(({ key_id }) => key_id)).toEqual(['op-privileged', 'op-standard', 'op-unused'])
    expect(keys[1]).toMatchObject({ tier: 'standard', usable: true, revoked_at: null, last_used: '2026-03-02' })
    expect(keys[2]).toMatchObject({ usable: true, last_used: null })
  })

  it('200: shows a revoked key with reason and revoker', async () => {
    accepted(await na.as('privileged')('POST', '/admin/operator-keys/op-unused/revoke', { reason: 'left' }))
    const body = bodyOf(await na.as('standard')('GET', '/admin/operator-keys'))
    expect((body['operator_keys'] as unknown[])[2]).toMatchObject({
      key_id: 'op-unused',
      usable: false,
      revoked_at: '2026-03-02T12:00:00Z',
      reason: 'left',
      revoked_by: 'op-privileged',
    })
    refused(await na.as('unused')('GET', '/admin/operator-keys'), 401, 'admin_auth_failed')
    refused(await na.as('standard')('GET', '/admin/operator-keys?limit=1'), 400, 'unexpected_field')
  })
})
