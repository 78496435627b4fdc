import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { JsonObject } from '@chancery/protocol'
import { ManualClock, accepted, refused, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { EXPECTED_SCHEMA_VERSION } from '../../store/migrate.ts'

const postgres = process.env['CHANCERY_TEST_DATABASE'] === 'postgres'

describe('health', () => {
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority({ network: 'HEALTH-NET' })
  })
  afterAll(() => na.stop())

  it('GET /healthz says ok and nothing else', async () => {
    expect(accepted(await na.request('GET', '/healthz'))).toEqual({ status: 'ok' })
  })

  it('GET /health tells what is switched on', async () => {
    expect(accepted(await na.request('GET', '/health'))).toEqual({
      status: 'healthy',
      network: 'HEALTH-NET',
      version: 'v0.1',
      boundary_policies: 'healthy',
      boundary_policy_enforcement: 'optional',
      evidence_store: 'off',
    })
    const other = await startTestAuthority({
      settings: { BOUNDARY_POLICY_ENFORCEMENT: 'required', EVIDENCE_STORE: 'on' },
    })
    expect(accepted(await other.request('GET', '/health'))).toMatchObject({
      boundary_policy_enforcement: 'required',
      evidence_store: 'on',
    })
    await other.stop()
  })
})

describe('GET /readyz', () => {
  let na: TestAuthority
  afterEach(() => na.stop())
  const fingerprint = (): string =>
    createHash('sha256').update(Buffer.from(na.genesis.network_authority.public_key, 'base64')).digest('hex')
  const details = async (): Promise<JsonObject> =>
    refused(await na.request('GET', '/readyz'), 503, 'service_not_ready')['details'] as JsonObject

  describe('200', () => {
    it('has exactly the documented members', async () => {
      na = await startTestAuthority()
      const document = accepted(await na.request('GET', '/readyz'))
      expect(document).toEqual({
        status: 'ready',
        instance: expect.stringMatching(/^[0-9a-f]{12}$/),
        ha_mode: 'off',
        database: {
          backend: postgres ? 'postgres' : 'sqlite',
          expected_schema_version: EXPECTED_SCHEMA_VERSION,
          schema_version: EXPECTED_SCHEMA_VERSION,
          writable: true,
        },
        signing_key: { key_id: 'na-test', provider: 'file', fingerprint: fingerprint() },
        rate_limiter: postgres ? 'database' : 'memory',
        db_path: expect.any(String),
      })
      if (postgres)
        expect(document['db_path']).toMatch(/^postgresql:\/\/postgres@127\.0\.0\.1:5432\/test_[0-9a-f]{16}$/)
      else expect(existsSync(String(document['db_path']))).toBe(true)
    })

    it('shows the configured instance, and a new random one otherwise', async () => {
      na = await startTestAuthority({ settings: { NA_INSTANCE_ID: 'east-1' } })
      expect(accepted(await na.request('GET', '/readyz'))['instance']).toBe('east-1')
      const [a, b] = [await startTestAuthority(), await startTestAuthority()]
      expect(a.office.instance).not.toBe(b.office.instance)
      await a.stop()
      await b.stop()
    })

    it('leaves nothing behind in the database', async () => {
      na = await startTestAuthority()
      for (let i = 0; i < 3; i += 1) accepted(await na.request('GET', '/readyz'))
      expect(await na.office.store.db.selectFrom('rate_limit_windows').selectAll().execute()).toEqual([])
    })

    it.runIf(postgres)('never shows a password or the query of the database URL', async () => {
      const { createTestDatabase } = await import('@chancery/testkit')
      const database = await createTestDatabase('postgres')
      const url = new URL(database.settings['DATABASE_URL'] ?? '')
      url.password = 'canary-password'
      url.searchParams.set('options', '-c application_name=canary-query')
      na = await startTestAuthority({ database: { settings: { DATABASE_URL: url.href }, drop: () => database.drop() } })
      const { text } = await na.request('GET', '/readyz')
      expect(text).toContain(`postgresql://postgres@127.0.0.1:5432${url.pathname}"`)
      expect(text).not.toContain('canary')
      const { stop } = na
      na = { ...na, stop: () => stop().then(() => database.drop()) }
    })
  })

  describe('503', () => {
    it('from the moment the instance begins to stop, while other routes are served', async () => {
      na = await startTestAuthority()
      na.authority.turnNotReady()
      const checks = await details()
      expect(Object.keys(checks).sort()).toEqual(['database', 'ha_mode', 'instance', 'rate_limiter', 'signing_key'])
      expect(checks).toMatchObject({ database: { writable: true } })
      expect((await na.request('GET', '/readyz')).headers['retry-after']).toMatch(/^[1-9]/)
      accepted(await na.request('GET', '/healthz'))
      accepted(await na.request('GET', '/policy'))
    })

    it('when the window of the genesis block is over', async () => {
      const clock = new ManualClock()
      na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
      clock.advance(90 * 86_400 - 1)
      accepted(await na.request('GET', '/readyz'))
      clock.advance(1)
      await details()
      accepted(await na.request('GET', '/healthz'))
      accepted(await na.request('GET', '/genesis'))
    })

    it('is not said with NA_GENESIS_WINDOW=warn', async () => {
      const clock = new ManualClock()
      na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off', NA_GENESIS_WINDOW: 'warn' } })
      clock.advance(91 * 86_400)
      accepted(await na.request('GET', '/readyz'))
      accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'after' }), 201)
    })

    it('when the schema is not the one this release knows', async () => {
      na = await startTestAuthority()
      await na.office.store.db
        .insertInto('schema_version')
        .values({ version: 999, applied_at: '2026-01-01T00:00:00.000000Z' })
        .execute()
      expect(await details()).toMatchObject({
        database: { schema_version: 999, expected_schema_version: EXPECTED_SCHEMA_VERSION, writable: true },
      })
    })

    it('when nothing can be written, with a short class name and no text of the driver', async () => {
      na = await startTestAuthority()
      await sql`alter table rate_limit_windows rename to away`.execute(na.office.store.db)
      const { database } = (await details()) as { database: JsonObject }
      expect(database).toMatchObject({ writable: false })
      expect(database['error']).toMatch(/^[A-Za-z][A-Za-z0-9]{0,39}$/)
      accepted(await na.request('GET', '/healthz'))
    })

    it.runIf(postgres)('when the database is gone', async () => {
      na = await startTestAuthority()
      accepted(await na.request('GET', '/readyz'))
      await na.database.drop()
      const started = performance.now()
      const { database } = (await details()) as { database: JsonObject }
      expect(performance.now() - started).toBeLessThan(3000)
      expect(database).toMatchObject({
        backend: 'postgres',
        writable: false,
        error: expect.stringMatching(/^[A-Za-z][A-Za-z0-9]{0,39}$/),
      })
    })
  })
})

describe('GET /metrics', () => {
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority()
  })
  afterAll(() => na.stop())

  it('gives each documented number with HELP and TYPE', async () => {
    accepted(await na.request('GET', '/crl'))
    accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'a' }), 201)
    accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'b' }), 201)
    const answer = await na.request('GET', '/metrics')
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    for (const [name, type, value] of [
      ['chancery_issued_certs_total', 'gauge', '0'],
      ['chancery_active_nodes', 'gauge', '0'],
      ['chancery_revoked_certs_total', 'gauge', '0'],
      ['chancery_crl_sequence', 'gauge', '0'],
      ['chancery_policy_versions_total', 'gauge', '2'],
      ['chancery_audit_write_failures_total', 'counter', '0'],
    ]) {
      const lines = answer.text.split('\n')
      expect(lines, name).toContain(`${name} ${value}`)
      expect(lines, name).toContain(`# TYPE ${name} ${type}`)
      expect(
        lines.some((line) => line.startsWith(`# HELP ${name} `)),
        name,
      ).toBe(true)
    }
  })

  it('names nobody: no key, id, address or path', async () => {
    refused(await na.request('GET', '/canary-path'), 404, 'not_found')
    refused(
      await na.request('GET', '/admin/policy/history', { headers: { 'X-Admin-Key-Id': 'canary-key' } }),
      401,
      'admin_auth_failed',
    )
    const { text } = await na.request('GET', '/metrics')
    expect(text).not.toMatch(/canary|127\.0\.0\.1|op-privileged/)
  })

  it.runIf(postgres)('answers without the database, too', async () => {
    const own = await startTestAuthority()
    await own.database.drop()
    const answer = await own.request('GET', '/metrics')
    expect(answer.status).toBe(200)
    expect(answer.text).toMatch(/^chancery_policy_versions_total NaN$/im)
    await own.stop()
  })
})
