// oxlint-disable max-lines -- health, readiness and metrics of the same set-up
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { JsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { ManualClock, accepted, enroll, nodeCaller, refused, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { listColumns } from '../../database/copy/unfinished-copy.ts'
import { EXPECTED_SCHEMA_VERSION } from '../../database/migrate.ts'
import { cacheDocuments } from './index.ts'
import { checkReadiness } from './readiness.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const postgres = process.env['CHANCERY_TEST_DATABASE'] === 'postgres'

/** Simulates the start of a newer release: one more schema version, and an additional column in every table. */
async function applyNext({ core }: TestAuthority, serves_from: number): Promise<void> {
  const applied_at = '2026-01-01T00:00:00.000000Z'
  await core.database.write(async (tx) => {
    for (const table of new Set(
      (await listColumns({ engine: core.database.engine, read: tx.query })).map((row) => row.table),
    ))
      await sql`alter table ${sql.table(table)} add column of_the_next_release text`.execute(tx.query)
    await tx.query
      .insertInto('schema_version')
      .values({ version: EXPECTED_SCHEMA_VERSION + 1, applied_at, serves_from })
      .execute()
  })
}

describe('a newer schema with additions only', () => {
  it('is served by a running instance until it is stopped, and refused at the next start of its release', async () => {
    const old = await startTestAuthority({ settings: { EVIDENCE_STORE: 'on' } })
    /** Uses all parts, with the same statements before and after. */
    const work = async (name: string): Promise<void> => {
      const member = nodeCaller(old.url, await testSigner('node', name), () => systemClock.now())
      const { cert_id } = await enroll(old, member)
      accepted(await member.heartbeat(cert_id))
      const renewed = accepted(await member.renew(cert_id), 201)
      accepted(await old.as('standard')('GET', '/admin/invites?state=all'))
      accepted(await old.as('privileged')('POST', '/admin/policy', { policy_id: name }), 201)
      accepted(await old.as('privileged')('POST', '/admin/attestations', { subject_id: name, roles: ['role:a'] }), 201)
      accepted(await old.as('standard')('GET', '/admin/evidence/status'))
      accepted(await old.as('privileged')('POST', '/admin/revoke', { cert_id: String(renewed['cert_id']) }))
      for (const path of ['/crl', '/dashboard.json', '/nodes', '/attestations', '/connectome.json', '/metrics'])
        expect((await old.request('GET', path)).status, path).toBe(200)
    }
    await work('before')
    await applyNext(old, EXPECTED_SCHEMA_VERSION)
    expect(accepted(await old.request('GET', '/readyz'))).toMatchObject({
      status: 'ready',
      database: { schema_version: EXPECTED_SCHEMA_VERSION + 1, expected_schema_version: EXPECTED_SCHEMA_VERSION },
      warnings: ['newer_schema'],
    })
    await work('after')
    const again = startTestAuthority({ database: old.database })
    await expect(again).rejects.toThrow(
      /install the release that migrated it, or a newer one; to go back to this release, restore the backup/,
    )
    await old.stop()
  })
})

it('warns while worker processes end repeatedly, and stays ready', async () => {
  const na = await startTestAuthority()
  const { isReady, checks } = await checkReadiness(
    { ...na.parts, doWorkersRestart: () => true },
    na.features.health.databaseProbe,
  )
  expect([isReady, checks['warnings']]).toEqual([true, ['workers_restart']])
  expect(accepted(await na.request('GET', '/readyz'))).not.toHaveProperty('warnings')
  await na.stop()
})

describe('health', () => {
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority({ network: 'HEALTH-NET' })
  })
  afterAll(() => na.stop())

  it('GET /healthz returns ok and nothing else', async () => {
    expect(accepted(await na.request('GET', '/healthz'))).toEqual({ status: 'ok' })
  })

  it('GET /readyz?for=reads depends on the cache, and on the database only without it', async () => {
    const ask = (): Promise<TestResponse> => na.request('GET', '/readyz?for=reads')
    const gone = vi.spyOn(na.core.database, 'checkWritable').mockRejectedValue(new Error('away'))
    try {
      const { details } = refused(await ask(), 503, 'service_not_ready')
      expect(details).toEqual({ reasons: ['database_unavailable'] })
      accepted(await na.request('GET', '/crl'))
      expect(accepted(await ask())).toEqual({ status: 'ready', for: 'reads' })
      // Everything else is checked without a value and with any other value.
      for (const query of ['', '?for=writes', '?for='])
        refused(await na.request('GET', `/readyz${query}`), 503, 'service_not_ready')
      const over = vi.spyOn(na.features.publishedDocuments, 'has').mockReturnValue(false)
      refused(await ask(), 503, 'service_not_ready')
      over.mockRestore()
    } finally {
      gone.mockRestore()
    }
    const stopping = await startTestAuthority()
    stopping.authority.turnNotReady()
    const answer = refused(await stopping.request('GET', '/readyz?for=reads'), 503, 'service_not_ready')
    expect(answer['details']).toEqual({ reasons: ['stopping'] })
    await stopping.stop()
  })

  it('caches published documents, and publishes nothing', async () => {
    const other = await startTestAuthority()
    const { parts } = other
    const holds = (): boolean[] =>
      ['crl', 'policy', 'feed', 'feed-index', 'feed-part-0'].map((name) =>
        parts.publishedDocuments.has(name, parts.clock.now()),
      )
    await cacheDocuments(parts)
    expect(holds()).toEqual([false, false, false, false, false])
    const second = await startTestAuthority({ database: other.database, network: other.genesis.network_name })
    for (const path of ['/crl', '/policy', '/sovereign-revocation-feed']) accepted(await second.request('GET', path))
    await cacheDocuments(parts)
    expect(holds()).toEqual([true, true, true, true, true])
    await second.stop()
    await other.stop()
  })

  it('GET /health returns what is enabled', async () => {
    expect(accepted(await na.request('GET', '/health'))).toEqual({
      status: 'healthy',
      reasons: [],
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
        signing_key: {
          key_id: 'na-test',
          provider: 'file',
          fingerprint: fingerprint(),
          valid_to: na.genesis.network_authority.valid_to,
          expires_in_seconds: expect.any(Number),
        },
        rate_limiter: postgres ? 'database' : 'memory',
        db_path: expect.any(String),
      })
      if (postgres) expect(document['db_path']).toMatch(/^postgresql:\/\/postgres@127\.0\.0\.1:\d+\/test_[0-9a-f]{16}$/)
      else expect(existsSync(String(document['db_path']))).toBe(true)
    })

    it('warns of the end of the key window within NA_KEY_WARNING_DAYS', async () => {
      const clock = new ManualClock()
      na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
      clock.advance(76 * 86_400)
      expect(accepted(await na.request('GET', '/readyz'))).not.toHaveProperty('warnings')
      clock.advance(1)
      expect(accepted(await na.request('GET', '/readyz'))).toMatchObject({
        status: 'ready',
        warnings: ['signing_key_window_ending'],
        signing_key: { expires_in_seconds: 14 * 86_400 - 1 },
      })
    })

    it('shows the configured instance, or a new random one', async () => {
      na = await startTestAuthority({ settings: { NA_INSTANCE_ID: 'east-1' } })
      expect(accepted(await na.request('GET', '/readyz'))['instance']).toBe('east-1')
      const [a, b] = [await startTestAuthority(), await startTestAuthority()]
      expect(a.core.instance).not.toBe(b.core.instance)
      await a.stop()
      await b.stop()
    })

    it('leaves no rows in the database', async () => {
      na = await startTestAuthority()
      for (let i = 0; i < 3; i += 1) accepted(await na.request('GET', '/readyz'))
      expect(await na.core.database.read.selectFrom('rate_limit_windows').selectAll().execute()).toEqual([])
    })

    it.runIf(postgres)('never shows a password or the query of the database URL', async () => {
      const { createTestDatabase } = await import('@chancery/testkit')
      const database = await createTestDatabase('postgres')
      const url = new URL(database.settings['DATABASE_URL'] ?? '')
      url.password = 'canary-password'
      url.searchParams.set('options', '-c application_name=canary-query')
      na = await startTestAuthority({ database: { settings: { DATABASE_URL: url.href }, drop: () => database.drop() } })
      const { text } = await na.request('GET', '/readyz')
      expect(text).toContain(`postgresql://postgres@127.0.0.1:${url.port}${url.pathname}"`)
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
      expect(Object.keys(checks).sort()).toEqual([
        'database',
        'ha_mode',
        'instance',
        'rate_limiter',
        'reasons',
        'signing_key',
      ])
      expect(checks).toMatchObject({ database: { writable: true }, reasons: ['stopping'] })
      expect((await na.request('GET', '/readyz')).headers['retry-after']).toMatch(/^[1-9]/)
      accepted(await na.request('GET', '/healthz'))
      accepted(await na.request('GET', '/policy'))
    })

    it('after the validity period of the genesis block', async () => {
      const clock = new ManualClock()
      na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
      clock.advance(90 * 86_400 - 1)
      accepted(await na.request('GET', '/readyz'))
      clock.advance(1)
      expect(await details()).toMatchObject({
        reasons: ['signing_key_window_over'],
        signing_key: { valid_to: na.genesis.network_authority.valid_to, expires_in_seconds: 0 },
      })
      const late = await na.as('privileged')('POST', '/admin/policy', { policy_id: 'late' })
      expect(refused(late, 503, 'service_unavailable')['details']).toEqual({ reason: 'signing_key_window_over' })
      // Several reasons at once: each is named.
      na.authority.turnNotReady()
      expect((await details())['reasons']).toEqual(['stopping', 'signing_key_window_over'])
      accepted(await na.request('GET', '/healthz'))
      accepted(await na.request('GET', '/genesis'))
    })

    it('is not reported with NA_GENESIS_WINDOW=warn', async () => {
      const clock = new ManualClock()
      na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off', NA_GENESIS_WINDOW: 'warn' } })
      clock.advance(91 * 86_400)
      accepted(await na.request('GET', '/readyz'))
      accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'after' }), 201)
    })

    it('when the schema is not the one of this release', async () => {
      na = await startTestAuthority()
      await rowsOf(na.core.database)
        .insertInto('schema_version')
        .values({ version: 999, applied_at: '2026-01-01T00:00:00.000000Z' })
        .execute()
      expect(await details()).toMatchObject({
        database: { schema_version: 999, expected_schema_version: EXPECTED_SCHEMA_VERSION, writable: true },
        reasons: ['schema_version'],
      })
    })

    it('when a newer schema excludes this release', async () => {
      na = await startTestAuthority()
      await applyNext(na, EXPECTED_SCHEMA_VERSION + 1)
      expect(await details()).toMatchObject({ reasons: ['schema_version'] })
      // A later version with additions only does not change that.
      const more = { version: EXPECTED_SCHEMA_VERSION + 2, serves_from: EXPECTED_SCHEMA_VERSION }
      const row = { ...more, applied_at: '2026-01-01T00:00:00.000000Z' }
      await rowsOf(na.core.database).insertInto('schema_version').values(row).execute()
      expect(await details()).toMatchObject({ reasons: ['schema_version'] })
    })

    it('when nothing can be written, with a short class name and no text of the driver', async () => {
      na = await startTestAuthority()
      await sql`alter table moments rename to away`.execute(rowsOf(na.core.database))
      // The result is cached for ten seconds.
      const found = await vi.waitFor(details, { timeout: 20_000, interval: 200 })
      const { database } = found as { database: JsonObject }
      expect(database).toMatchObject({ writable: false })
      expect(database['error']).toMatch(/^[A-Za-z][A-Za-z0-9]{0,39}$/)
      accepted(await na.request('GET', '/healthz'))
    })

    it.runIf(!postgres)('while another program has locked the file, and not longer', async () => {
      na = await startTestAuthority()
      accepted(await na.request('GET', '/readyz'))
      const other = new DatabaseSync(na.database.settings['DB_PATH'] ?? '')
      const status = async (): Promise<number> => (await na.request('GET', '/readyz')).status
      try {
        other.exec('begin immediate')
        await expect.poll(status, { timeout: 8000 }).toBe(503)
      } finally {
        other.close()
      }
      await expect.poll(status).toBe(200)
    })

    it.runIf(postgres)('when the database is unavailable', async () => {
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

  it('returns each documented number with HELP and TYPE', async () => {
    accepted(await na.request('GET', '/crl'))
    accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'a' }), 201)
    accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'b' }), 201)
    const answer = await na.request('GET', '/metrics')
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    for (const [name, type, value] of [
      ['chancery_issued_certs', 'gauge', '0'],
      ['chancery_issued_certs_total', 'gauge', '0'],
      ['chancery_active_nodes', 'gauge', '0'],
      ['chancery_revoked_certs', 'gauge', '0'],
      ['chancery_revoked_certs_total', 'gauge', '0'],
      ['chancery_crl_sequence', 'gauge', '0'],
      ['chancery_policy_versions', 'gauge', '2'],
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

  it('contains no key, id, address or path', async () => {
    refused(await na.request('GET', '/canary-path'), 404, 'not_found')
    refused(
      await na.request('GET', '/admin/policy/history', { headers: { 'X-Admin-Key-Id': 'canary-key' } }),
      401,
      'admin_auth_failed',
    )
    const { text } = await na.request('GET', '/metrics')
    expect(text).not.toMatch(/canary|127\.0\.0\.1|op-privileged/)
  })

  it.runIf(postgres)('responds without the database, too', async () => {
    const own = await startTestAuthority()
    await own.database.drop()
    const answer = await own.request('GET', '/metrics')
    expect(answer.status).toBe(200)
    expect(answer.text).toMatch(/^chancery_policy_versions NaN$/im)
    await own.stop()
  })
})
