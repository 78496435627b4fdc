import { type JsonObject, writeSortable } from '@chancery/protocol'
import { ManualClock, type TestAuthority, accepted, currentBackend, startTestAuthority } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import { editPolicies, publishAndEdit } from './edited-policy.suite.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const DAY_SECONDS = 86_400

describe('GET /health', () => {
  const clock = new ManualClock()
  let na: TestAuthority
  afterEach(() => na.stop())
  const start = async (settings: Readonly<Record<string, string>> = {}): Promise<void> => {
    na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off', ...settings } })
  }
  /** After the second for which a response is cached. */
  const health = async (): Promise<JsonObject> => {
    clock.advance(1)
    const { status, reasons } = accepted(await na.request('GET', '/health'))
    return { status: status ?? null, reasons: reasons ?? null }
  }
  const degraded = (...reasons: string[]): JsonObject => ({ status: 'degraded', reasons })
  const unhealthy = (...reasons: string[]): JsonObject => ({ status: 'unhealthy', reasons })
  const HEALTHY = { status: 'healthy', reasons: [] }

  it('is healthy without reasons', async () => {
    await start()
    expect(await health()).toEqual(HEALTHY)
  })

  it('is degraded while the key window is ending and unhealthy when it is over', async () => {
    await start({ NA_KEY_WARNING_DAYS: '3' })
    clock.advance(86 * DAY_SECONDS)
    expect(await health()).toEqual(HEALTHY)
    clock.advance(DAY_SECONDS)
    expect(await health()).toEqual(degraded('signing_key_window_ending'))
    clock.advance(3 * DAY_SECONDS)
    expect(await health()).toEqual(unhealthy('not_ready', 'signing_key_window_over'))
  })

  it('stays degraded where the end of the window only causes a warning', async () => {
    await start({ NA_GENESIS_WINDOW: 'warn' })
    clock.advance(91 * DAY_SECONDS)
    expect(await health()).toEqual(degraded('signing_key_window_ending'))
  })

  it('reports an instance that stops', async () => {
    await start()
    na.authority.turnNotReady()
    expect(await health()).toEqual(unhealthy('not_ready'))
  })

  it('reports policies that cannot decide, and their recovery', async () => {
    await start()
    await publishAndEdit(na)
    expect(await health()).toEqual(unhealthy('boundary_policies_unhealthy'))
    await editPolicies(na, '"max":6', '"max":5')
    expect(await health()).toEqual(HEALTHY)
  })

  it('reports lists and feeds that were not signed for 18 hours', async () => {
    await start()
    accepted(await na.request('GET', '/crl'))
    accepted(await na.request('GET', '/sovereign-revocation-feed'))
    const db = rowsOf(na.core.database)
    const feed = { sequence: 9, feed_json: '{}', issued_at: '' }
    await db.insertInto('own_revocation_feeds').values(feed).execute()
    // The dates are written back directly, because the jobs would sign the next ones.
    const dateBack = async (seconds: number): Promise<void> => {
      const issued_at = writeSortable(clock.now() - BigInt(seconds) * 1_000_000n)
      await db.updateTable('crl_versions').set({ issued_at }).execute()
      await db.updateTable('own_revocation_feeds').set({ issued_at }).execute()
    }
    await dateBack(18 * 3600 - 1)
    expect(await health()).toEqual(HEALTHY)
    expect(await health()).toEqual(degraded('crl_overdue', 'feed_overdue'))
    await dateBack(0)
    expect(await health()).toEqual(HEALTHY)
  })

  it('reports an own feed above 80 % of its maximum', async () => {
    await start()
    accepted(await na.request('GET', '/sovereign-revocation-feed'))
    const list = (total_ids: number) =>
      rowsOf(na.core.database).updateTable('own_revocation_feeds').set({ total_ids }).execute()
    await list(1_600_000)
    expect(await health()).toEqual(HEALTHY)
    await list(1_600_001)
    expect(await health()).toEqual(degraded('feed_near_full'))
    await list(0)
    expect(await health()).toEqual(HEALTHY)
  })

  it('reports a list of half the size that its readers accept', async () => {
    await start()
    accepted(await na.request('GET', '/crl'))
    const size = (bytes: number) => rowsOf(na.core.database).updateTable('crl_versions').set({ bytes }).execute()
    await size(33_554_431)
    expect(await health()).toEqual(HEALTHY)
    await size(33_554_432)
    expect(await health()).toEqual(degraded('crl_large'))
  })

  it('reports evidence without an anchor after two intervals, never when anchors are made on request', async () => {
    for (const [seconds, expected] of [
      ['600', degraded('evidence_unanchored')],
      ['0', HEALTHY],
    ] as const) {
      await start({ EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: seconds })
      await seedEntry(na)
      expect(await health()).toEqual(HEALTHY)
      clock.advance(1201)
      expect(await health()).toEqual(expected)
      if (seconds !== '0') await na.stop()
    }
  })

  it('reports audit events that could not be written for five minutes', async () => {
    await start()
    na.core.metrics.auditWriteFailures.increase()
    expect(await health()).toEqual(degraded('audit_write_failed'))
    na.core.metrics.limiterFallbacks.increase()
    clock.advance(290)
    expect(await health()).toEqual(degraded('audit_write_failed', 'limiter_fallback'))
    clock.advance(60)
    expect(await health()).toEqual(HEALTHY)
  })

  it('reports a treaty that ended without a successor', async () => {
    await start()
    const key = na.genesis.network_authority.public_key
    const treaty = { subject_sovereign_id: 'PARTNER-NET', subject_public_keys: [key], validity_hours: 1 }
    accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', treaty), 201)
    expect(await health()).toEqual(HEALTHY)
    clock.advance(3600)
    expect(await health()).toEqual(degraded('treaty_lapsed'))
    clock.advance(7 * DAY_SECONDS)
    // A list that a job has published before is overdue now.
    expect((await health())['reasons']).not.toContain('treaty_lapsed')
  })

  it('returns 200 and not healthy when the database cannot be read', async () => {
    await start()
    await sql`alter table crl_versions rename to away`.execute(rowsOf(na.core.database))
    expect(await health()).toEqual(unhealthy('not_ready'))
  })

  it.runIf(currentBackend() === 'postgres')('responds in time when the database is unavailable', async () => {
    await start()
    await na.database.drop()
    const started = performance.now()
    expect((await health())['status']).toBe('unhealthy')
    expect(performance.now() - started).toBeLessThan(5000)
  })

  it('is cached for a second at most', async () => {
    await start()
    expect(await health()).toEqual(HEALTHY)
    na.authority.turnNotReady()
    expect(accepted(await na.request('GET', '/health'))['status']).toBe('healthy')
    expect(await health()).toEqual(unhealthy('not_ready'))
  })
})

/** An entry of now that no anchor covers. */
async function seedEntry({ core }: TestAuthority): Promise<void> {
  const db = rowsOf(core.database)
  const none = { decision_id: null, vendor_id: null, attestation_id: null, capability: null, outcome: null }
  const absent = { evidence_id: null, exec_sequence_no: null, resource_id: null, resource_sequence: null }
  const recorded_at = writeSortable(core.clock.now())
  const entry = { store_sequence: 1, recorded_at, entry_kind: 'decision', entry_digest: 'd1', line: '{}' }
  await db
    .insertInto('evidence_entries')
    .values({ ...entry, ...none, ...absent, record_digest: null })
    .execute()
  await db.updateTable('evidence_head').set({ last_sequence: 1, last_digest: 'd1' }).execute()
}
