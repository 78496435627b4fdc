import { type TestAuthority, accepted, refused, startTestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

/** Reliability 1.5 and 13: a change made on one instance applies on every instance from the next request on. */
describe.runIf(process.env['CHANCERY_TEST_DATABASE'] === 'postgres')('two instances on one database', () => {
  const settings = { NA_HA_MODE: 'on', NA_RATE_LIMIT_ADMIN_PER_MINUTE: '1000' }
  const operators = { privileged: 'privileged', standard: 'standard', gone: 'privileged' } as const
  let a: TestAuthority
  let b: TestAuthority
  beforeEach(async () => {
    a = await startTestAuthority({ operators, settings })
    b = await startTestAuthority({ operators, settings, database: a.database })
  })
  afterEach(async () => {
    await b.stop()
    await a.stop()
  })

  it('an operator key revoked on one is refused by the other at its next request', async () => {
    for (let i = 0; i < 5; i += 1) accepted(await b.as('gone')('GET', '/admin/policy/history'))
    accepted(await a.as('privileged')('POST', '/admin/operator-keys/op-gone/revoke', {}))
    expect(refused(await b.as('gone')('GET', '/admin/policy/history'), 401, 'admin_auth_failed')['message']).toBe(
      'Unknown admin key',
    )
    expect(refused(await a.as('gone')('GET', '/admin/policy/history'), 401, 'admin_auth_failed')['message']).toBe(
      'Unknown admin key',
    )
    accepted(await b.as('standard')('GET', '/admin/policy/history'))
  })

  it('a policy published on one is served by the other at its next request, and so is a rollback', async () => {
    for (let i = 0; i < 10; i += 1) {
      const [writer, reader] = i % 2 === 0 ? [a, b] : [b, a]
      const published = await writer.as('privileged')('POST', '/admin/policy', { policy_id: `p-${i}` })
      accepted(published, 201)
      expect((await reader.request('GET', '/policy')).text).toBe(published.text)
    }
    const back = await a.as('privileged')('POST', '/admin/policy/rollback', { policy_id: 'p-3' })
    expect((await b.request('GET', '/policy')).text).toBe(back.text)
  })

  it('a request captured on one is a replay on the other', async () => {
    for (let i = 0; i < 20; i += 1) {
      const options = { nonce: `captured-${i}`, timestamp: new Date().toISOString() }
      accepted(await a.as('standard')('GET', '/admin/policy/history', undefined, options))
      refused(await b.as('standard')('GET', '/admin/policy/history', undefined, options), 401, 'admin_auth_failed')
    }
  })

  it('of copies sent to both at once exactly one is accepted', async () => {
    const options = { nonce: 'raced', timestamp: new Date().toISOString() }
    const sent = Array.from({ length: 30 }, (_, i) =>
      (i % 2 === 0 ? a : b).as('standard')('GET', '/admin/policy/history', undefined, options),
    )
    const statuses = (await Promise.all(sent)).map((answer) => answer.status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 401)).toHaveLength(29)
  })

  it('first readers of both get one policy and one list', async () => {
    for (const path of ['/policy', '/crl']) {
      const answers = await Promise.all(
        Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? a : b).request('GET', path)),
      )
      for (const answer of answers) accepted(answer)
      expect(new Set(answers.map((answer) => answer.text)).size, path).toBe(1)
    }
    expect(await a.core.database.read.selectFrom('crl_versions').select('sequence').execute()).toEqual([
      { sequence: 0 },
    ])
    expect(await a.core.database.read.selectFrom('policy_versions').select('position').execute()).toEqual([
      { position: 1 },
    ])
  })

  it('two keys that revoke each other through different instances leave one', async () => {
    accepted(await a.as('privileged')('POST', '/admin/operator-keys/op-standard/revoke', {}))
    const answers = await Promise.all([
      a.as('privileged')('POST', '/admin/operator-keys/op-gone/revoke', {}),
      b.as('gone')('POST', '/admin/operator-keys/op-privileged/revoke', {}),
    ])
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
    const alive = [
      await a.as('privileged')('GET', '/admin/policy/history'),
      await b.as('gone')('GET', '/admin/policy/history'),
    ]
    expect(alive.filter((answer) => answer.status === 200)).toHaveLength(1)
  })

  it('publishers on both are all served, without a gap and with one active version', async () => {
    const sent = Array.from({ length: 20 }, (_, i) =>
      (i % 2 === 0 ? a : b).as('privileged')('POST', '/admin/policy', { policy_id: `race-${i}` }),
    )
    for (const answer of await Promise.all(sent)) accepted(answer, 201)
    const rows = await a.core.database.read.selectFrom('policy_versions').selectAll().orderBy('position').execute()
    expect(rows.map((row) => row.position)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
    expect(rows.filter((row) => row.active === 1)).toHaveLength(1)
  })
})

describe.runIf(process.env['CHANCERY_TEST_DATABASE'] === 'postgres')('limits of two instances', () => {
  it('are one limit: what is used up on one is used up on the other', async () => {
    const settings = { NA_RATE_LIMIT_ADMIN_PER_MINUTE: '6', NA_RATE_LIMIT_ADMIN_AUTH_FAILURES_PER_MINUTE: '6' }
    const a = await startTestAuthority({ settings })
    const b = await startTestAuthority({ settings, database: a.database })
    const statuses: number[] = []
    // At most one new window may begin in the meantime.
    for (let i = 0; i < 14; i += 1)
      statuses.push((await (i % 2 === 0 ? a : b).as('standard')('GET', '/admin/policy/history')).status)
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(2)
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(12)
    expect(accepted(await a.request('GET', '/readyz'))['rate_limiter']).toBe('database')
    await b.stop()
    await a.stop()
  })
})
