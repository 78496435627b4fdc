import { accepted, refused, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

describe('POST /admin/policy', () => {
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority()
  })
  afterAll(() => na.stop())

  describe('201', () => {
    it('signs, activates and audits in one step', async () => {
      const policy = accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'p-1' }), 201)
      expect(accepted(await na.request('GET', '/policy'))).toEqual(policy)
      const [event] = await na.auditEvents('policy_published')
      expect(event?.['details']).toMatchObject({ policy_id: 'p-1', previous_policy_id: null, key_id: 'op-privileged' })
    })
  })

  describe('409', () => {
    it('refuses another content under a known id and keeps the old one', async () => {
      accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'p-2', allowed_ports: [1] }), 201)
      refused(
        await na.as('privileged')('POST', '/admin/policy', { policy_id: 'p-2', allowed_ports: [2] }),
        409,
        'conflict',
      )
      expect(accepted(await na.request('GET', '/policy'))).toMatchObject({ policy_id: 'p-2', allowed_ports: [1] })
    })
  })
})
