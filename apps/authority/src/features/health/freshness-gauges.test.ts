import { ManualClock, type TestAuthority, accepted, startTestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { storeTime } from '../../database/database.ts'
import { publishAndEdit } from './edited-policy.suite.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const START = '2026-03-02T12:00:00Z'
const NONE = 'Nan'

/** The ages come from the rows that decisions use. The test moves the clock. */
describe('freshness in GET /metrics', () => {
  let na: TestAuthority
  let clock: ManualClock
  beforeEach(async () => {
    clock = new ManualClock(START)
    const settings = { NA_CLOCK_CHECK: 'off', EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '1800' }
    na = await startTestAuthority({ clock, settings })
  })
  afterEach(() => na.stop())

  const read = async (name: string): Promise<string | undefined> => {
    const { text } = await na.request('GET', '/metrics')
    return new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]
  }

  it('reports whether /readyz is ready', async () => {
    expect(await read('chancery_ready')).toBe('1')
    na.authority.turnNotReady()
    expect(await read('chancery_ready')).toBe('0')
  })

  it('reports when the key window ends, and that it has ended', async () => {
    expect(await read('chancery_signing_key_expires_in_seconds')).toBe(String(90 * 86_400))
    clock.advance(90 * 86_400 + 60)
    expect(await read('chancery_signing_key_expires_in_seconds')).toBe('-60')
  })

  it('reports whether the active boundary policies can decide', async () => {
    expect(await read('chancery_boundary_policies_healthy')).toBe('1')
    await publishAndEdit(na)
    expect(await read('chancery_boundary_policies_healthy')).toBe('0')
  })

  it('reports the age and the end of the revocation list', async () => {
    accepted(await na.request('GET', '/crl'))
    clock.advance(3600)
    expect(await read('chancery_crl_age_seconds')).toBe('3600')
    expect(await read('chancery_crl_expires_in_seconds')).toBe(String(23 * 3600))
  })

  it('reports sequence, age and size of the own feed', async () => {
    accepted(await na.request('GET', '/sovereign-revocation-feed'))
    clock.advance(3600)
    expect(await read('chancery_feed_sequence')).toBe('0')
    expect(await read('chancery_feed_age_seconds')).toBe('3600')
    expect(await read('chancery_feed_ids')).toBe('0')
    expect(await read('chancery_feed_capacity_ids')).toBe('2000000')
  })

  it('reports the age of the feeds of recognised sovereigns only, and the sovereigns never imported', async () => {
    expect(await read('chancery_peer_feed_oldest_age_seconds')).toBe(NONE)
    const feed = (issuer_sovereign_id: string, sequence: number, imported_at: string) => ({
      issuer_sovereign_id,
      sequence,
      imported_at,
      feed_id: `${issuer_sovereign_id}-${sequence}`,
      feed_json: '{}',
      revoked_count: 0,
    })
    const treaty = (subject_sovereign_id: string, expires_at: string, status = 'active') => ({
      subject_sovereign_id,
      expires_at,
      status,
      treaty_id: `${subject_sovereign_id}-${expires_at}`,
      issuer_sovereign_id: 'US',
      treaty_json: '{}',
      valid_from: START,
      revocation_reason: null,
      issued_at: '2026-01-01T00:00:00.000000Z',
      revoked_at: null,
    })
    const db = rowsOf(na.core.database)
    const later = '2026-06-01T00:00:00.000000Z'
    await db
      .insertInto('recognition_treaties')
      .values([
        treaty('A', later),
        treaty('B', later),
        treaty('NEVER', later),
        treaty('ENDED', '2026-03-01T00:00:00.000000Z'),
        treaty('WITHDRAWN', later, 'revoked'),
        { ...treaty('NOT-YET', later), valid_from: '2026-05-01T00:00:00Z' },
      ])
      .execute()
    await db
      .insertInto('sovereign_revocation_feeds')
      .values([
        feed('A', 1, '2026-02-01T00:00:00.000000Z'),
        feed('A', 2, '2026-03-02T11:59:00.000000Z'),
        feed('B', 1, '2026-03-02T11:00:00.000000Z'),
        feed('ENDED', 1, '2026-01-01T00:00:00.000000Z'),
        feed('WITHDRAWN', 1, '2026-01-01T00:00:00.000000Z'),
      ])
      .execute()
    expect(await read('chancery_peer_feed_oldest_age_seconds')).toBe('3600')
    expect(await read('chancery_peer_feeds_never_imported')).toBe('1')
    await db
      .insertInto('imported_issuers')
      .values({ issuer_sovereign_id: 'B', ids: 0, confirmed_at: '2026-03-02T11:59:30.000000Z' })
      .execute()
    expect(await read('chancery_peer_feed_oldest_age_seconds')).toBe('60')
  })

  it('reports the age of the last backup, or of the database while there is none', async () => {
    clock.advance(7200)
    expect(await read('chancery_backup_age_seconds')).toBe('7200')
    await na.core.database.write((tx) => storeTime(tx, 'backup', clock.now() - 60_000_000n))
    expect(await read('chancery_backup_age_seconds')).toBe('60')
  })

  it('reports when the first sovereign will be without a treaty, and the recently ended treaties', async () => {
    expect(await read('chancery_treaty_next_expiry_seconds')).toBe(NONE)
    expect(await read('chancery_treaties_lapsed')).toBe('0')
    const row = (subject_sovereign_id: string, expires_at: string, status = 'active') => ({
      subject_sovereign_id,
      expires_at,
      status,
      treaty_id: `${subject_sovereign_id}-${expires_at}`,
      issuer_sovereign_id: 'US',
      treaty_json: '{}',
      valid_from: START,
      revocation_reason: null,
      issued_at: '2026-01-01T00:00:00.000000Z',
      revoked_at: null,
    })
    await rowsOf(na.core.database)
      .insertInto('recognition_treaties')
      .values([
        // Renewed, so the old one may end.
        row('A', '2026-03-02T12:00:30.000000Z'),
        row('A', '2026-03-09T12:00:00.000000Z'),
        row('B', '2026-03-03T12:00:00.000000Z'),
        row('C', '2026-03-01T12:00:00.000000Z'),
        row('ENDED-BY-WILL', '2026-03-01T12:00:00.000000Z', 'revoked'),
        row('LONG-AGO', '2026-02-01T12:00:00.000000Z'),
      ])
      .execute()
    expect(await read('chancery_treaty_next_expiry_seconds')).toBe('86400')
    expect(await read('chancery_treaties_lapsed')).toBe('1')
  })

  it('reports how much evidence has no anchor, and since when', async () => {
    expect(await read('chancery_evidence_unanchored_seconds')).toBe('0')
    expect(await read('chancery_evidence_anchor_interval_seconds')).toBe('1800')
    const db = rowsOf(na.core.database)
    const entry = (store_sequence: number, recorded_at: string) => ({
      store_sequence,
      recorded_at,
      entry_kind: 'decision',
      entry_digest: `d${store_sequence}`,
      line: '{}',
      decision_id: null,
      vendor_id: null,
      attestation_id: null,
      capability: null,
      outcome: null,
      evidence_id: null,
      exec_sequence_no: null,
      resource_id: null,
      resource_sequence: null,
      record_digest: null,
    })
    await db
      .insertInto('evidence_entries')
      .values([
        entry(1, '2026-03-02T10:00:00.000000Z'),
        entry(2, '2026-03-02T11:00:00.000000Z'),
        entry(3, '2026-03-02T11:30:00.000000Z'),
      ])
      .execute()
    await db.updateTable('evidence_head').set({ last_sequence: 3, last_digest: 'd3' }).execute()
    await db
      .insertInto('evidence_anchors')
      .values({ anchor_sequence: 1, store_sequence: 1, anchor_json: '{}', anchored_at: '2026-03-02T10:00:01.000000Z' })
      .execute()
    expect(await read('chancery_evidence_unanchored_entries')).toBe('2')
    expect(await read('chancery_evidence_unanchored_seconds')).toBe('3600')
  })

  it('reports since when audit events wait for a forwarder, also while they have no sequence yet', async () => {
    expect(await read('chancery_audit_forward_lag_seconds')).toBe('0')
    accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'a' }), 201)
    // Without a forwarder nothing is late.
    clock.advance(60)
    expect(await read('chancery_audit_forward_lag_seconds')).toBe('0')
    const forward = { name: 'siem', sequence: 0, event_id: '', updated_at: '2026-03-02T12:00:00.000000Z' }
    await rowsOf(na.core.database).insertInto('audit_forwards').values(forward).execute()
    expect(await read('chancery_audit_forward_lag_seconds')).toBe('60')
  })
})
