import { readRevocationFeed, verifyList } from '@chancery/protocol'
import type { JsonObject, JsonValue, RevocationFeed } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  seedTreaties,
  refused,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
const settings = { NA_CLOCK_CHECK: 'off' }
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings })
})
afterAll(() => na.stop())

async function issue(): Promise<string> {
  const body = { subject_id: 'zoë', roles: ['role:client'] }
  return String(accepted(await na.as('privileged')('POST', '/admin/attestations', body), 201)['attestation_id'])
}

const revoke = (id: string, body: JsonObject = {}, as = 'privileged'): Promise<TestResponse> =>
  na.as(as)('POST', `/admin/attestations/${id}/revoke`, body)
const find = async (id: string): Promise<JsonObject> => accepted(await na.request('GET', `/attestations/${id}`))
const feed = async (): Promise<RevocationFeed> =>
  readRevocationFeed(accepted(await na.request('GET', '/sovereign-revocation-feed')))

describe('POST /admin/attestations/{attestation_id}/revoke', () => {
  describe('200', () => {
    it('marks, lists in the feed and audits in one transaction; the signed record stays', async () => {
      const id = await issue()
      const [signed, before] = [(await find(id))['attestation'], await feed()]
      clock.advance(60)
      const answer = await revoke(id, { reason: 'left the house' })
      expect(accepted(answer)).toEqual({ attestation_id: id, status: 'revoked' })
      expect(await find(id)).toEqual({
        attestation: signed,
        status: 'revoked',
        revoked_at: '2026-01-02T03:05:05.678000Z',
        revocation_reason: 'left the house',
      })
      const after = await feed()
      expect(after.sequence).toBe(before.sequence + 1)
      expect(after.revoked_attestation_ids).toEqual([...before.revoked_attestation_ids, id].sort())
      expect(after.revocation_reasons).toEqual({ ...before.revocation_reasons, [id]: 'left the house' })
      expect(await verifyList(after, [na.genesis.network_authority.public_key])).toBe(true)
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['membership_attestation_revoked'])
      expect(detailsOf(events[0])).toEqual({
        attestation_id: id,
        reason: 'left the house',
        key_id: 'op-privileged',
        remote_addr: '127.0.0.1',
        request_id: answer.headers['x-request-id'],
      })
    })

    it('uses the reason unspecified when none is given', async () => {
      const id = await issue()
      accepted(await revoke(id))
      expect(await find(id)).toMatchObject({ revocation_reason: 'unspecified' })
      expect((await feed()).revocation_reasons[id]).toBe('unspecified')
    })

    it('repeated, keeps the first time and reason, and adds nothing to the feed or the audit log', async () => {
      const id = await issue()
      accepted(await revoke(id, { reason: 'first' }))
      const [row, list] = [await find(id), (await na.request('GET', '/sovereign-revocation-feed')).text]
      clock.advance(10)
      const again = await revoke(id, { reason: 'second' })
      expect(accepted(again)).toEqual({ attestation_id: id, status: 'revoked' })
      expect(await find(id)).toEqual(row)
      expect((await na.request('GET', '/sovereign-revocation-feed')).text).toBe(list)
      expect(await eventsOf(na, again)).toEqual([])
    })

    it('accepts a reason of 256 characters', async () => {
      accepted(await revoke(await issue(), { reason: '\u{1f600}'.repeat(256) }))
    })

    it('counts each of several parallel revocations once: the sequence has no gap', async () => {
      const ids = await Promise.all(Array.from({ length: 6 }, () => issue()))
      const before = (await feed()).sequence
      const answers = await Promise.all([...ids, ...ids].map((id) => revoke(id)))
      for (const answer of answers) accepted(answer)
      expect((await feed()).sequence).toBe(before + 6)
      const rows = await na.core.database.read
        .selectFrom('own_revocation_feeds')
        .select('sequence')
        .orderBy('sequence')
        .execute()
      const sequences = rows.map((row) => Number(row.sequence))
      expect(sequences).toEqual(sequences.map((_, i) => (sequences[0] ?? 0) + i))
    })
  })

  describe('400', () => {
    it.each<JsonValue>(['', 'x'.repeat(257), 'a\nb', 7, null, [], {}])('refuses the reason %j', async (reason) => {
      const id = await issue()
      refused(await revoke(id, { reason }), 400, 'invalid_input')
      // The form of the request is checked before the attestation.
      refused(await revoke('unknown', { reason }), 400, 'invalid_input')
      expect(await find(id)).toMatchObject({ status: 'active' })
    })

    it.each<JsonValue>(['true', 1, null, {}])('refuses dry_run %j and revokes nothing', async (dry_run) => {
      const id = await issue()
      refused(await revoke(id, { dry_run }), 400, 'invalid_input')
      expect(await find(id)).toMatchObject({ status: 'active' })
    })

    it('names every unknown member', async () => {
      const error = refused(await revoke(await issue(), { cause: 'x', dryRun: true }), 400, 'unexpected_field')
      expect(error['details']).toEqual({ fields: ['cause', 'dryRun'] })
    })
  })

  describe('401 and 403', () => {
    it('is for privileged operators, whether the attestation exists or not', async () => {
      const id = await issue()
      for (const each of [id, 'unknown']) {
        const path = `/admin/attestations/${each}/revoke`
        refused(await na.request('POST', path, { body: {} }), 401, 'admin_auth_failed')
        refused(await revoke(each, {}, 'standard'), 403, 'insufficient_operator_tier')
      }
      expect(await find(id)).toMatchObject({ status: 'active' })
    })
  })

  describe('404', () => {
    it.each(['unknown', '00000000-0000-4000-8000-000000000000', 'a'.repeat(300), 'zo%C3%AB'])(
      'refuses %s',
      async (id) => {
        const before = await feed()
        for (const body of [{}, { dry_run: true }]) {
          const answer = await revoke(id, body)
          refused(answer, 404, 'attestation_not_found')
          expect(await eventsOf(na, answer)).toEqual([])
        }
        expect(await feed()).toEqual(before)
      },
    )
  })

  describe('dry_run', () => {
    it('returns what would stop being accepted and changes nothing', async () => {
      const id = await issue()
      const [row, list] = [await find(id), (await na.request('GET', '/sovereign-revocation-feed')).text]
      const answer = await revoke(id, { dry_run: true, reason: 'only asking' })
      expect(accepted(answer)).toEqual({
        dry_run: true,
        attestation_id: id,
        status: 'active',
        would_change: true,
        attestations_no_longer_accepted: { count: 1, sample: [id] },
        accepting_sovereigns: { count: 0, sample: [] },
      })
      expect(await eventsOf(na, answer)).toEqual([])
      expect(await find(id)).toEqual(row)
      expect((await na.request('GET', '/sovereign-revocation-feed')).text).toBe(list)
    })

    it('names the sovereigns that recognise this one now', async () => {
      const own = await startTestAuthority({ clock: new ManualClock(), settings })
      try {
        await seedTreaties(own.parts, [
          { treaty_id: '1', from: '\u{1f600}', to: 'TEST-NET' },
          { treaty_id: '2', from: '\ue000', to: 'TEST-NET' },
          { treaty_id: '3', from: '\ue000', to: 'TEST-NET' },
          { treaty_id: '4', from: 'GONE', to: 'TEST-NET', revokedBecause: 'over' },
          { treaty_id: '5', from: 'OTHER', to: 'ELSEWHERE' },
        ])
        const body = { subject_id: 'x', roles: ['role:client'] }
        const { attestation_id } = accepted(await own.as('privileged')('POST', '/admin/attestations', body), 201)
        const path = `/admin/attestations/${String(attestation_id)}/revoke`
        const foreseen = accepted(await own.as('privileged')('POST', path, { dry_run: true }))
        expect(foreseen['accepting_sovereigns']).toEqual({ count: 2, sample: ['\ue000', '\u{1f600}'] })
      } finally {
        await own.stop()
      }
    })

    it('of a revoked attestation reports no change', async () => {
      const id = await issue()
      accepted(await revoke(id))
      expect(accepted(await revoke(id, { dry_run: true }))).toEqual({
        dry_run: true,
        attestation_id: id,
        status: 'revoked',
        would_change: false,
        attestations_no_longer_accepted: { count: 0, sample: [] },
        accepting_sovereigns: { count: 0, sample: [] },
      })
    })

    it('equals what then happens', async () => {
      const id = await issue()
      const policy = {
        local_sovereign_id: 'TEST-NET',
        recognized_issuers: [
          {
            sovereign_id: 'TEST-NET',
            public_keys: [na.genesis.network_authority.public_key],
            allowed_roles: ['role:client'],
          },
        ],
      }
      const attestation = (await find(id))['attestation'] ?? null
      const verify = async (): Promise<JsonValue | undefined> =>
        accepted(
          await na.request('POST', '/attestations/verify', { body: { attestation, recognition_policy: policy } }),
        )['reason']
      const foreseen = accepted(await revoke(id, { dry_run: true }))
      expect(await verify()).toBe('accepted')
      accepted(await revoke(id))
      expect(foreseen['attestations_no_longer_accepted']).toEqual({ count: 1, sample: [id] })
      expect(await verify()).toBe('locally_revoked')
    })
  })

  describe('503', () => {
    it('revokes nothing after the validity period of the genesis block, because the feed could not be signed', async () => {
      const own = new ManualClock()
      const late = await startTestAuthority({ clock: own, settings })
      try {
        const body = { subject_id: 'x', roles: ['role:client'] }
        const { attestation_id } = accepted(await late.as('privileged')('POST', '/admin/attestations', body), 201)
        own.advance(90 * 86_400)
        const answer = await late.as('privileged')('POST', `/admin/attestations/${String(attestation_id)}/revoke`, {})
        refused(answer, 503, 'service_unavailable')
        expect(accepted(await late.request('GET', `/attestations/${String(attestation_id)}`))['status']).toBe('active')
        expect(await late.auditEvents('membership_attestation_revoked')).toEqual([])
      } finally {
        await late.stop()
      }
    })
  })

  it('never lists an attestation of another issuer', async () => {
    const unknownSigner = await testSigner('stranger')
    expect((await feed()).issuer_sovereign_id).toBe('TEST-NET')
    expect(await verifyList(await feed(), [unknownSigner.publicKey])).toBe(false)
  })
})
