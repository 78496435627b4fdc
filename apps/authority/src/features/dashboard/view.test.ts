// oxlint-disable max-lines -- every part of one document
import { createHash } from 'node:crypto'
import { type JsonObject, type JsonValue, fromBase64, readJson } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  currentBackend,
  detailsOf,
  enroll,
  eventsOf,
  foreignFeed,
  foreignSovereign,
  nodeCaller,
  seedTreaties,
  startTestAuthority,
  testSigner,
  wireText,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { recordActivity } from './activity.ts'

const HOUR = 3600
let clock: ManualClock
let na: TestAuthority
beforeEach(async () => {
  clock = new ManualClock('2026-01-02T03:04:05.500Z')
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off', NA_PUBLIC_URL: 'https://na.example' } })
})
afterEach(() => na.stop())

const view = async (): Promise<JsonObject> => accepted(await na.request('GET', '/dashboard.json'))
const member = async (name: string): Promise<JsonValue | undefined> => (await view())[name]
const post = async (path: string, body: JsonObject, status = 200): Promise<JsonObject> =>
  accepted(await na.as('privileged')('POST', path, body), status)
const importFeed = (name: string, sequence: number, ids: readonly string[], keyName = name): Promise<JsonObject> => {
  const issuer = foreignSovereign(name, keyName)
  return post('/admin/sovereign-revocation-feeds/import', {
    feed: readJson(wireText(foreignFeed(issuer, sequence, ids))),
    issuer_public_keys: [issuer.publicKey],
  })
}

describe('GET /dashboard.json', () => {
  it('of a new authority has every member and no warnings', async () => {
    accepted(await na.request('GET', '/crl'))
    accepted(await na.request('GET', '/sovereign-revocation-feed'))
    expect(await view()).toEqual({
      sovereign: { id: 'TEST-NET', version: 'v0.1' },
      readiness: { status: 'ready', backend: currentBackend() === 'postgres' ? 'PostgreSQL' : 'SQLite' },
      // The validity period of the test authority is 90 days.
      signing_key: { key_id: 'na-test', valid_to: '2026-04-02T03:04:05.500000Z', days_left: 90 },
      nodes: { active: 0, tracked: 0 },
      // The job that counts once a minute may have run already.
      certificates: { issued: 0, revoked: 0, expiring: expect.toBeOneOf([null, 0]) },
      activity: expect.objectContaining({ step_seconds: 60 }),
      revocation_list: {
        sequence: 0,
        entries: 0,
        issued_at: '2026-01-02T03:04:05.500000Z',
        issued_at_display: '2026-01-02 03:04 UTC',
        next_update: '2026-01-03T03:04:05.500000Z',
        next_update_display: '2026-01-03 03:04 UTC',
        age_minutes: 0,
        overdue: false,
      },
      connectome_summary: {
        sovereign_count: 0,
        recognition_edge_count: 0,
        active_edge_count: 0,
        revoked_edge_count: 0,
        revoked_trust_material_count: 0,
        imported_revocation_count: 0,
        reported_edge_count: 0,
        partner_count: 0,
      },
      treaty_summary: { total: 0, active: 0, expiring_soon: 0, expired: 0, revoked: 0, replaced: 0, warning_count: 0 },
      treaties: [],
      own_feed: {
        sequence: 0,
        issued_at: expect.any(String),
        age_hours: 0,
        ids: 0,
        total_ids: 0,
        parts: 1,
        pruned: 0,
        capacity: 2_000_000,
      },
      revocation_feed_summary: { count: 0, freshness: 'none', stale_count: 0, watch_count: 0 },
      revocation_feeds: [],
      partners: {
        count: 0,
        states: { alarm: 0, paused: 0, new: 0, fresh: 0, watch: 0, stale: 0 },
        alarms: 0,
        rows: [],
      },
      boundary_policies: { enforcement: 'optional', healthy: true, status: 'healthy', problem_count: 0, active: [] },
      decisions: {
        operator: { authorized: 0, denied: 0 },
        node: { authorized: 0, denied: 0 },
        partner_node: { authorized: 0, denied: 0 },
        relay: { authorized: 0, denied: 0 },
      },
      recent_changes: expect.any(Array),
      warnings: [],
      links: {
        dashboard_json: 'https://na.example/dashboard.json',
        connectome: 'https://na.example/connectome',
        connectome_json: 'https://na.example/connectome.json',
        recognition_treaties: 'https://na.example/recognition-treaties',
        recognition_graph: 'https://na.example/recognition-graph',
        api_reference: 'https://na.example/api-reference',
        cli_reference: 'https://na.example/cli-reference',
      },
    })
  })

  it('shows treaties by risk, then by end, and counts them', async () => {
    const issuedAt = clock.now() - 3_600_000_000n
    await seedTreaties(na.parts, [
      { treaty_id: 'low-2', from: 'A', to: 'B', validityHours: 800 },
      { treaty_id: 'low-1', from: 'A', to: 'B', validityHours: 700 },
      { treaty_id: 'medium', from: 'A', to: 'B', validityHours: 50 },
      { treaty_id: 'past', from: 'A', to: 'B', issuedAt, validityHours: 1 },
      { treaty_id: 'high-2', from: 'A', to: 'B', validityHours: 20 },
      // Half a second apart: sorted as strings they would be in the opposite order.
      { treaty_id: 'high-1', from: 'A', to: 'B', issuedAt: clock.now() - 500_000n, validityHours: 20 },
      { treaty_id: 'over', from: 'A', to: 'B', validityHours: 10, revokedBecause: 'over' },
      { treaty_id: 'next', from: 'A', to: 'B', validityHours: 20, revokedBecause: 'renewed_by:low-1' },
    ])
    const rows = (await member('treaties')) as JsonObject[]
    expect(rows.map((row) => row['treaty_id'])).toEqual([
      'high-1',
      'high-2',
      'past',
      'medium',
      'low-1',
      'low-2',
      'over',
      'next',
    ])
    expect(rows[6]).toEqual({
      treaty_id: 'over',
      issuer_sovereign_id: 'A',
      subject_sovereign_id: 'B',
      status: 'revoked',
      lifecycle_state: 'revoked',
      expiry_risk: 'none',
      valid_from: '2026-01-02T03:04:05.500000Z',
      expires_at: '2026-01-02T13:04:05.500000Z',
      valid_from_display: '2026-01-02 03:04 UTC',
      expires_at_display: '2026-01-02 13:04 UTC',
      revoked_at: '2026-01-02T04:04:05.500000Z',
      revocation_reason: 'over',
      capability_patterns: 0,
    })
    expect(await member('treaty_summary')).toEqual({
      total: 8,
      active: 2,
      expiring_soon: 3,
      expired: 1,
      revoked: 1,
      replaced: 1,
      warning_count: 4,
    })
    expect(await member('warnings')).toEqual([expect.stringContaining('4 treaties')])
    const { summary } = accepted(await na.request('GET', '/connectome.json')) as { summary: JsonObject }
    expect(await member('connectome_summary')).toEqual(summary)
  })

  it('shows the newest feed of each issuer and its freshness', async () => {
    await importFeed('OLD', 1, ['a'])
    clock.advance(1)
    await importFeed('OLD', 4, ['a', 'b'])
    const shown = async (): Promise<JsonValue> =>
      ((await member('revocation_feeds')) as JsonObject[]).map(
        ({ issuer_sovereign_id, sequence, revoked_count, age_hours, freshness }) => ({
          issuer_sovereign_id: issuer_sovereign_id ?? null,
          sequence: sequence ?? null,
          revoked_count: revoked_count ?? null,
          age_hours: age_hours ?? null,
          freshness: freshness ?? null,
        }),
      )
    const old = { issuer_sovereign_id: 'OLD', sequence: 4, revoked_count: 2 }
    expect(await shown()).toEqual([{ ...old, age_hours: 0, freshness: 'fresh' }])
    expect((await member('revocation_feeds')) as JsonObject[]).toMatchObject([
      { imported_at: '2026-01-02T03:04:06.500000Z', imported_at_display: '2026-01-02 03:04 UTC' },
    ])
    clock.advance(24 * HOUR)
    expect(await shown()).toEqual([{ ...old, age_hours: 24, freshness: 'fresh' }])
    clock.advance(0.000_001)
    expect(await shown()).toEqual([{ ...old, age_hours: 24, freshness: 'watch' }])
    await importFeed('NEW', 1, [])
    expect(await member('revocation_feed_summary')).toEqual({
      count: 2,
      freshness: 'watch',
      stale_count: 0,
      watch_count: 1,
    })
    clock.advance(48 * HOUR)
    expect(await member('revocation_feed_summary')).toEqual({
      count: 2,
      freshness: 'stale',
      stale_count: 1,
      watch_count: 1,
    })
    // Reading the list signs it again. A list three days old would cause another warning.
    accepted(await na.request('GET', '/crl'))
    expect(await member('warnings')).toEqual([expect.stringContaining('1 revocation feed')])
  })

  it('warns of a feed that was imported with other keys than a treaty pins', async () => {
    const subject_public_keys = [foreignSovereign('P').publicKey]
    await post('/admin/recognition-treaties', { subject_sovereign_id: 'P', subject_public_keys }, 201)
    await importFeed('P', 1, [])
    expect(await member('warnings')).toEqual([])
    await importFeed('P', 2, [], 'rotated')
    expect(await member('warnings')).toEqual([expect.stringContaining('other keys')])
  })

  it('counts active nodes and certificates that are not revoked', async () => {
    const [one, other] = [
      nodeCaller(na.url, await testSigner('n', 'dash-1'), () => clock.now()),
      nodeCaller(na.url, await testSigner('n', 'dash-2'), () => clock.now()),
    ]
    const { cert_id } = await enroll(na, one)
    await enroll(na, other)
    expect(await member('nodes')).toEqual({ active: 2, tracked: 2 })
    await post('/admin/revoke', { cert_id })
    expect(await member('nodes')).toEqual({ active: 1, tracked: 1 })
    clock.advance(300)
    expect(await member('nodes')).toEqual({ active: 0, tracked: 1 })
  })

  describe('recent_changes', () => {
    it('are the 8 newest about recognition, attestations, revocation and policy', async () => {
      // The first list is a change, too. It is published now, before a job does it at another time.
      accepted(await na.request('GET', '/crl'))
      for (let i = 0; i < 10; i += 1) {
        clock.advance(1)
        await post('/admin/attestations', { subject_id: `member-${i}`, roles: ['role:client'] }, 201)
      }
      clock.advance(1)
      await post('/admin/recognition-policy', { recognition_policy: { local_sovereign_id: 'TEST-NET' } })
      clock.advance(1)
      await post('/admin/invite', {}, 201)
      const changes = (await member('recent_changes')) as JsonObject[]
      expect(changes.map((change) => change['event_type'])).toEqual([
        'recognition_policy_saved',
        ...Array<string>(7).fill('membership_attestation_issued'),
      ])
      expect(changes[0]).toEqual({
        event_type: 'recognition_policy_saved',
        created_at: '2026-01-02T03:04:16.500000Z',
        created_at_display: '2026-01-02 03:04 UTC',
        details: { policy_id: 'recognition-TEST-NET', recognized_issuer_count: 0 },
        summary: {
          title: 'Recognition policy saved',
          state: 'accepted',
          fields: [
            { label: 'policy id', value: 'recognition-TEST-NET' },
            { label: 'recognized issuer count', value: 0 },
          ],
        },
      })
    })

    it('have the current state of their record', async () => {
      clock.advance(1)
      const { attestation_id } = await post('/admin/attestations', { subject_id: 'x', roles: ['role:client'] }, 201)
      clock.advance(1)
      await post(`/admin/attestations/${String(attestation_id)}/revoke`, {})
      clock.advance(1)
      await importFeed('P', 1, [])
      clock.advance(1)
      await na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', {
        feed: readJson(wireText(foreignFeed(foreignSovereign('P'), 1, []))),
        issuer_public_keys: [foreignSovereign('P').publicKey],
      })
      const changes = (await member('recent_changes')) as { event_type: string; summary: { state: string } }[]
      // A job publishes the first list at an unknown time.
      const own = changes.filter(({ event_type }) => event_type !== 'crl_published')
      expect(own.slice(0, 4).map(({ event_type, summary }) => [event_type, summary.state])).toEqual([
        ['sovereign_revocation_feed_rejected', 'rejected'],
        ['sovereign_revocation_feed_imported', 'accepted'],
        ['membership_attestation_revoked', 'revoked'],
        ['membership_attestation_issued', 'accepted'],
      ])
    })

    it('name what a standard key signed with a fingerprint of that key, never with its id', async () => {
      const standard = na.as('standard')
      const decision = { source_sovereign_id: 'TEST-NET', target_sovereign_id: 'OTHER', verdict: 'allow' }
      clock.advance(1)
      const evidence = await standard('POST', '/admin/trust-evidence', { decision })
      accepted(evidence, 201)
      clock.advance(1)
      const license = {
        licensee_sovereign_id: 'OTHER',
        allowed_source_ids: ['s'],
        allowed_access_types: ['read'],
        max_volume_bytes_per_session: 1,
        valid_from: '2026-01-01T00:00:00Z',
        valid_until: '2026-02-01T00:00:00Z',
      }
      const first = accepted(await standard('POST', '/admin/data-usage/policy', license), 201)
      clock.advance(1)
      const second = await standard('POST', '/admin/data-usage/policy', license)
      accepted(second, 201)
      // The full name is in the audit log, which only operators read.
      for (const answer of [evidence, second])
        expect(detailsOf((await eventsOf(na, answer))[0])).toMatchObject({ key_id: 'op-standard' })
      const key = fromBase64((await testSigner('op-standard')).publicKey) ?? new Uint8Array()
      const operator = createHash('sha256').update(key).digest('hex').slice(0, 16)
      const changes = (await member('recent_changes')) as JsonObject[]
      const shown = changes.filter(({ event_type }) => event_type !== 'crl_published').slice(0, 3)
      expect(shown.map(({ event_type, details }) => [event_type, details])).toEqual([
        [
          'data_license_policy_created',
          {
            policy_id: (second.json as JsonObject)['policy_id'],
            previous_policy_id: first['policy_id'],
            operator,
          },
        ],
        ['data_license_policy_created', { policy_id: first['policy_id'], previous_policy_id: null, operator }],
        [
          'trust_evidence_built',
          { source_sovereign_id: 'TEST-NET', target_sovereign_id: 'OTHER', verdict: 'allow', operator },
        ],
      ])
      const page = (await na.request('GET', '/dashboard')).text
      expect(page).toContain(operator)
      expect(page).not.toContain('op-standard')
    })

    it('name no subject, key, address, operator or token', async () => {
      const secret = 'zoë.private@example.org'
      const key = (await testSigner('subject')).publicKey
      const { attestation_id } = await post(
        '/admin/attestations',
        { subject_id: secret, roles: ['role:hidden'], subject_public_key: key, claims: { secret } },
        201,
      )
      await post(`/admin/attestations/${String(attestation_id)}/revoke`, { reason: `left: ${secret}` })
      const { cert_id } = await enroll(
        na,
        nodeCaller(na.url, await testSigner('n', 'dash-3'), () => clock.now()),
      )
      await post('/admin/revoke', { cert_id })
      const { signing_key: _own, ...rest } = accepted(await na.request('GET', '/dashboard.json'))
      const text = JSON.stringify(rest)
      for (const hidden of [
        secret,
        key,
        'role:hidden',
        '127.0.0.1',
        'op-privileged',
        'remote_addr',
        'request_id',
        'key_id',
        'signature',
        'token',
      ])
        expect(text, hidden).not.toContain(hidden)
    })
  })

  it('has no slot for a minute that a clock counted while it was ahead', async () => {
    const right = clock.now()
    clock.set(right + 40n * 86_400_000_000n)
    await recordActivity(na.parts)
    clock.set(right)
    await recordActivity(na.parts)
    expect(await member('activity')).toEqual({
      since: '2026-01-02T03:04:00Z',
      step_seconds: 60,
      active: [0],
      tracked: [0],
    })
  })

  it('becomes not ready with the authority, without the reason', async () => {
    clock.advance(90 * 86_400)
    expect(await member('readiness')).toEqual({
      status: 'not_ready',
      backend: currentBackend() === 'postgres' ? 'PostgreSQL' : 'SQLite',
    })
  })
})
