import type { JsonObject } from '@chancery/protocol'
import { ManualClock, accepted, refused, startTestAuthority } from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

describe('the admin limit', () => {
  const clock = new ManualClock('2026-03-01T12:00:00Z')
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off', NA_RATE_LIMIT_ADMIN_PER_MINUTE: '4' } })
  })
  afterAll(() => na.stop())
  const history = (from: string): Promise<TestResponse> =>
    na.as('standard')('GET', '/admin/policy/history', undefined, { from })

  it('counts all admin routes of one address together, whatever they return, and resets after the window', async () => {
    const from = '127.5.0.1'
    accepted(await history(from))
    refused(await na.as('standard')('POST', '/admin/policy', {}, { from }), 403, 'insufficient_operator_tier')
    refused(await na.request('POST', '/admin/policy/rollback', { body: {}, from }), 401, 'admin_auth_failed')
    refused(await na.request('POST', '/admin/policy', { rawBody: '{', from }), 400, 'invalid_json')
    for (const answer of [await history(from), await na.request('POST', '/admin/policy', { rawBody: '{', from })]) {
      refused(answer, 429, 'rate_limit_exceeded')
      expect(answer.headers['retry-after']).toBe('60')
    }
    accepted(await history('127.5.0.2'))
    accepted(await na.request('GET', '/policy', { from }))
    clock.advance(60)
    accepted(await history(from))
  })

  it('counts public routes with operator headers, too', async () => {
    const from = '127.5.0.3'
    for (let i = 0; i < 4; i += 1) accepted(await na.as('standard')('GET', '/nodes', undefined, { from }))
    refused(await na.as('standard')('GET', '/nodes', undefined, { from }), 429, 'rate_limit_exceeded')
    refused(await na.request('GET', '/nodes', { headers: { 'X-Admin-Nonce': 'x' }, from }), 429, 'rate_limit_exceeded')
    accepted(await na.request('GET', '/nodes', { from }))
  })

  it('does not count a body that is too large: size is checked first', async () => {
    const small = await startTestAuthority({
      clock,
      settings: { NA_CLOCK_CHECK: 'off', NA_RATE_LIMIT_ADMIN_PER_MINUTE: '1', NA_MAX_REQUEST_BYTES: '100' },
    })
    const from = '127.5.0.4'
    for (let i = 0; i < 3; i += 1)
      refused(
        await small.request('POST', '/admin/policy', { rawBody: 'x'.repeat(101), from }),
        413,
        'request_entity_too_large',
      )
    accepted(await small.as('standard')('GET', '/admin/policy/history', undefined, { from }))
    refused(await small.as('standard')('GET', '/admin/policy/history', undefined, { from }), 429, 'rate_limit_exceeded')
    await small.stop()
  })
})

describe('the limit of operator reads', () => {
  const clock = new ManualClock('2026-03-01T12:00:00Z')
  const settings = {
    NA_CLOCK_CHECK: 'off',
    NA_RATE_LIMIT_ADMIN_PER_MINUTE: '2',
    NA_RATE_LIMIT_OPERATOR_READ_PER_MINUTE: '3',
    NA_RATE_LIMIT_ADMIN_AUTH_FAILURES_PER_MINUTE: '4',
  }
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority({
      clock,
      settings,
      operators: { privileged: 'privileged', second: 'standard', standard: 'standard' },
    })
  })
  afterAll(() => na.stop())
  const whoami = (from: string, as = 'standard', options: JsonObject = {}): Promise<TestResponse> =>
    na.as(as)('GET', '/admin/whoami', undefined, { from, ...options })

  it('counts by key from any address, apart from the admin limit, and resets after the window', async () => {
    for (const from of ['127.7.0.1', '127.7.0.2', '127.7.0.1']) accepted(await whoami(from))
    refused(await whoami('127.7.0.3'), 429, 'rate_limit_exceeded')
    accepted(await whoami('127.7.0.1', 'second'))
    for (let i = 0; i < 2; i += 1)
      accepted(await na.as('standard')('GET', '/admin/policy/history', undefined, { from: '127.7.0.1' }))
    clock.advance(120)
    accepted(await whoami('127.7.0.1'))
  })

  it('is not used up by forged and repeated calls, which use up the failures of their address', async () => {
    clock.advance(120)
    const from = '127.7.1.1'
    const nonce = 'read-once'
    accepted(await whoami('127.7.1.9', 'standard', { nonce }))
    refused(await whoami(from, 'standard', { nonce }), 401, 'admin_auth_failed')
    for (let i = 0; i < 2; i += 1)
      refused(await whoami(from, 'standard', { signedPath: '/admin/invite' }), 401, 'admin_auth_failed')
    refused(await na.request('GET', '/admin/whoami', { from }), 401, 'admin_auth_failed')
    refused(await whoami(from), 429, 'admin_auth_throttled')
    for (let i = 0; i < 2; i += 1) accepted(await whoami('127.7.1.9'))
    refused(await whoami('127.7.1.9'), 429, 'rate_limit_exceeded')
  })

  it('refuses an address that calls more often than ten keys may', async () => {
    clock.advance(120)
    const from = '127.7.2.1'
    const answers = []
    for (let i = 0; i < 31; i += 1) answers.push((await na.request('GET', '/admin/whoami', { from })).status)
    expect(answers.slice(0, 4)).toEqual([401, 401, 401, 401])
    refused(await whoami(from), 429, 'rate_limit_exceeded')
    accepted(await whoami('127.7.2.2'))
  })
})

describe('the limit of decisions of an operator key', () => {
  const clock = new ManualClock('2026-03-01T12:00:00Z')
  const settings = {
    NA_CLOCK_CHECK: 'off',
    NA_RATE_LIMIT_ADMIN_PER_MINUTE: '2',
    NA_RATE_LIMIT_OPERATOR_DECISION_PER_MINUTE: '3',
  }
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority({ clock, settings, operators: { second: 'standard', standard: 'standard' } })
  })
  afterAll(() => na.stop())

  it('counts by key from any address, and leaves the admin limit of the address to other calls', async () => {
    const from = '127.8.0.1'
    const evaluate = (as = 'standard', address = from): Promise<TestResponse> =>
      na.as(as)('POST', '/admin/boundary/evaluate', {}, { from: address })
    for (let i = 0; i < 2; i += 1) refused(await evaluate(), 400, 'ambiguous_basis')
    refused(
      await na.as('standard')('POST', '/admin/boundary/evaluate', {}, { from, signedPath: '/x' }),
      401,
      'admin_auth_failed',
    )
    refused(await evaluate('standard', '127.8.0.2'), 400, 'ambiguous_basis')
    refused(await evaluate('standard', '127.8.0.3'), 429, 'rate_limit_exceeded')
    refused(await evaluate('second'), 400, 'ambiguous_basis')
    for (let i = 0; i < 2; i += 1)
      accepted(await na.as('standard')('GET', '/admin/policy/history', undefined, { from }))
    clock.advance(120)
    refused(await evaluate(), 400, 'ambiguous_basis')
  })
})

describe('the revocation reserve', () => {
  const clock = new ManualClock('2026-03-01T12:00:00Z')
  const settings = {
    NA_CLOCK_CHECK: 'off',
    NA_RATE_LIMIT_ADMIN_PER_MINUTE: '2',
    NA_RATE_LIMIT_REVOCATION_PER_MINUTE: '3',
    NA_RATE_LIMIT_ADMIN_AUTH_FAILURES_PER_MINUTE: '50',
  }
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority({
      clock,
      settings,
      operators: { privileged: 'privileged', second: 'privileged', standard: 'standard' },
    })
  })
  afterAll(() => na.stop())
  const revoke = (from: string, as = 'privileged'): Promise<TestResponse> =>
    na.as(as)('POST', '/admin/revoke', { cert_id: '00000000-0000-4000-8000-000000000000' }, { from })
  const work = (from: string): Promise<TestResponse> =>
    na.as('standard')('GET', '/admin/policy/history', undefined, { from })
  async function spendAdmin(from: string): Promise<void> {
    for (let i = 0; i < 2; i += 1) accepted(await work(from))
    refused(await work(from), 429, 'rate_limit_exceeded')
  }

  it('serves a revocation after other calls have used up the limit of the address, up to its own limit per key', async () => {
    clock.advance(120)
    const from = '127.6.0.1'
    await spendAdmin(from)
    for (let i = 0; i < 3; i += 1) refused(await revoke(from), 404, 'certificate_not_found')
    refused(await work(from), 429, 'rate_limit_exceeded')
    refused(await revoke(from), 429, 'rate_limit_exceeded')
    // The reserve is per key, not per address: operators have separate reserves.
    refused(await revoke(from, 'second'), 404, 'certificate_not_found')
    await spendAdmin('127.6.0.2')
    refused(await revoke('127.6.0.2'), 429, 'rate_limit_exceeded')
    clock.advance(120)
    await spendAdmin(from)
    refused(await revoke(from), 404, 'certificate_not_found')
  })

  it('is not used by revocations within the admin limit', async () => {
    clock.advance(120)
    for (let i = 0; i < 4; i += 1) refused(await revoke(`127.6.1.${i}`), 404, 'certificate_not_found')
    await spendAdmin('127.6.1.9')
    for (let i = 0; i < 3; i += 1) refused(await revoke('127.6.1.9'), 404, 'certificate_not_found')
  })

  it('cannot be used up without the key: forged, repeated and headerless calls do not count', async () => {
    clock.advance(120)
    const from = '127.6.2.1'
    await spendAdmin(from)
    const attempt = (options: JsonObject): Promise<TestResponse> =>
      na.as('privileged')('POST', '/admin/revoke', {}, { from, ...options })
    for (let i = 0; i < 6; i += 1) {
      refused(await na.request('POST', '/admin/revoke', { body: {}, from }), 401, 'admin_auth_failed')
      refused(await attempt({ signedBody: { forged: true } }), 401, 'admin_auth_failed')
    }
    const nonce = 'captured-once'
    refused(await attempt({ nonce }), 400, 'missing_cert_id')
    for (let i = 0; i < 6; i += 1) refused(await attempt({ nonce }), 401, 'admin_auth_failed')
    for (let i = 0; i < 2; i += 1) refused(await revoke(from), 404, 'certificate_not_found')
    refused(await revoke(from), 429, 'rate_limit_exceeded')
  })

  it('limits keys without the tier, too', async () => {
    clock.advance(120)
    const from = '127.6.3.1'
    await spendAdmin(from)
    for (let i = 0; i < 3; i += 1) refused(await revoke(from, 'standard'), 403, 'insufficient_operator_tier')
    refused(await revoke(from, 'standard'), 429, 'rate_limit_exceeded')
  })
})

describe('the address of a caller', () => {
  it('is the entry that the outermost trusted proxy wrote, and never one that the caller wrote', async () => {
    const clock = new ManualClock()
    const settings = { NA_CLOCK_CHECK: 'off', NA_PROXY_HOPS: '1', NA_RATE_LIMIT_ADMIN_PER_MINUTE: '2' }
    const na = await startTestAuthority({ clock, settings })
    const call = (forwarded: string): Promise<TestResponse> =>
      na.as('standard')('GET', '/admin/policy/history', undefined, { headers: { 'X-Forwarded-For': forwarded } })
    accepted(await call('203.0.113.1'))
    accepted(await call('198.51.100.7, 203.0.113.1'))
    refused(await call('198.51.100.8,203.0.113.1'), 429, 'rate_limit_exceeded')
    accepted(await call('203.0.113.2'))
    // A /64 is one caller.
    accepted(await call('2001:db8:1:2::1'))
    accepted(await call('2001:db8:1:2:ffff::2'))
    refused(await call('2001:db8:1:2:3:4:5:6'), 429, 'rate_limit_exceeded')
    accepted(await call('2001:db8:1:3::1'))
    // An invalid address counts as the peer.
    accepted(await call('garbage'))
    accepted(await call(''))
    refused(await call('also invalid'), 429, 'rate_limit_exceeded')
    await na.stop()
  })

  it('is the peer without a configured proxy', async () => {
    const na = await startTestAuthority()
    refused(
      await na.request('GET', '/admin/policy/history', {
        from: '127.5.0.9',
        headers: { 'X-Forwarded-For': '203.0.113.1' },
      }),
      401,
      'admin_auth_failed',
    )
    const [event] = await na.auditEvents('admin_auth_failed')
    expect(event?.['details']).toMatchObject({ remote_addr: '127.5.0.9' })
    await na.stop()
  })
})

describe('NA_PRIVILEGED_ROUTES', () => {
  it('requires a privileged key on the named routes and on no other', async () => {
    const na = await startTestAuthority({ settings: { NA_PRIVILEGED_ROUTES: 'POST /admin/trust-evidence' } })
    const decision = { source_sovereign_id: 'TEST-NET', target_sovereign_id: 'OTHER', verdict: 'allow' }
    const raised = await na.as('standard')('POST', '/admin/trust-evidence', { decision })
    refused(raised, 403, 'insufficient_operator_tier')
    const [event] = await na.auditEvents('admin_authz_denied')
    expect(event?.['details']).toMatchObject({ key_id: 'op-standard', required_tier: 'privileged' })
    accepted(await na.as('privileged')('POST', '/admin/trust-evidence', { decision }), 201)
    accepted(await na.as('standard')('POST', '/admin/invite', {}), 201)
    await na.stop()
  })
})
