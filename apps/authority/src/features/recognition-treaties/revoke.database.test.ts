import type { JsonObject, JsonValue } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  foreignSovereign,
  seedTreaties,
  refused,
  startTestAuthority,
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

async function issue(subject = 'PARTNER-NET', authority = na): Promise<string> {
  const body = { subject_sovereign_id: subject, subject_public_keys: [foreignSovereign(subject).publicKey] }
  return String(
    accepted(await authority.as('privileged')('POST', '/admin/recognition-treaties', body), 201)['treaty_id'],
  )
}
const revoke = (id: string, body: JsonObject = {}, as = 'privileged', authority = na): Promise<TestResponse> =>
  authority.as(as)('POST', `/admin/recognition-treaties/${id}/revoke`, body)
const find = async (id: string): Promise<JsonObject> => accepted(await na.request('GET', `/recognition-treaties/${id}`))

describe('POST /admin/recognition-treaties/{treaty_id}/revoke', () => {
  describe('200', () => {
    it('ends recognition and audits it; the signed record stays', async () => {
      const id = await issue()
      const signed = (await find(id))['treaty']
      clock.advance(60)
      const answer = await revoke(id, { reason: 'relationship_ended' })
      expect(accepted(answer)).toEqual({ treaty_id: id, status: 'revoked' })
      expect(await find(id)).toMatchObject({
        treaty: signed,
        status: 'revoked',
        revoked_at: '2026-01-02T03:05:05.678000Z',
        revocation_reason: 'relationship_ended',
        lifecycle: { state: 'revoked', expiry_risk: 'none', seconds_until_expiry: null },
      })
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['recognition_treaty_revoked'])
      expect(detailsOf(events[0])).toEqual({
        treaty_id: id,
        reason: 'relationship_ended',
        key_id: 'op-privileged',
        remote_addr: '127.0.0.1',
        request_id: answer.headers['x-request-id'],
      })
    })

    it.each(['renewed_by:', 'replaced_by:'])('for the reason %s<id> is a replacement', async (word) => {
      const [old, next] = [await issue(), await issue()]
      accepted(await revoke(old, { reason: `${word}${next}` }))
      expect((await find(old))['lifecycle']).toMatchObject({ state: 'replaced', replacement_treaty_id: next })
    })

    it('uses the reason unspecified when none is given', async () => {
      const id = await issue()
      accepted(await revoke(id))
      expect(await find(id)).toMatchObject({ revocation_reason: 'unspecified' })
    })

    it('repeated, keeps the first time and reason and audits nothing', async () => {
      const id = await issue()
      accepted(await revoke(id, { reason: 'first' }))
      const row = await find(id)
      clock.advance(10)
      const again = await revoke(id, { reason: 'replaced_by:x' })
      expect(accepted(again)).toEqual({ treaty_id: id, status: 'revoked' })
      expect(await find(id)).toEqual(row)
      expect(await eventsOf(na, again)).toEqual([])
    })

    it('audits one of several parallel revocations', async () => {
      const id = await issue()
      const answers = await Promise.all(Array.from({ length: 6 }, (_, i) => revoke(id, { reason: `r${i}` })))
      for (const answer of answers) accepted(answer)
      const events = (await na.auditEvents('recognition_treaty_revoked'))
        .map(detailsOf)
        .filter((details) => details['treaty_id'] === id)
      expect(events).toHaveLength(1)
      expect(await find(id)).toMatchObject({ revocation_reason: events[0]?.['reason'] })
    })

    it('needs no signature: it works after the validity period of the genesis block', async () => {
      const own = new ManualClock()
      const late = await startTestAuthority({ clock: own, settings })
      try {
        const id = await issue('P', late)
        own.advance(90 * 86_400)
        accepted(await revoke(id, {}, 'privileged', late))
      } finally {
        await late.stop()
      }
    })
  })

  describe('400', () => {
    it.each<JsonValue>(['', 'x'.repeat(257), 'a\nb', 7, null, []])('refuses the reason %j', async (reason) => {
      const id = await issue()
      refused(await revoke(id, { reason }), 400, 'invalid_input')
      expect(await find(id)).toMatchObject({ status: 'active' })
    })

    it.each<JsonValue>(['true', 1, null])('refuses dry_run %j and revokes nothing', async (dry_run) => {
      const id = await issue()
      refused(await revoke(id, { dry_run }), 400, 'invalid_input')
      expect(await find(id)).toMatchObject({ status: 'active' })
    })

    it('names every unknown member', async () => {
      expect(refused(await revoke(await issue(), { replaced_by: 'x' }), 400, 'unexpected_field')['details']).toEqual({
        fields: ['replaced_by'],
      })
    })
  })

  describe('401 and 403', () => {
    it('is for privileged operators, whether the treaty exists or not', async () => {
      const id = await issue()
      for (const each of [id, 'unknown']) {
        refused(
          await na.request('POST', `/admin/recognition-treaties/${each}/revoke`, { body: {} }),
          401,
          'admin_auth_failed',
        )
        refused(await revoke(each, {}, 'standard'), 403, 'insufficient_operator_tier')
      }
      expect(await find(id)).toMatchObject({ status: 'active' })
    })
  })

  describe('404', () => {
    it.each(['unknown', 'zo%C3%AB', 'a'.repeat(300)])('refuses %s', async (id) => {
      for (const body of [{}, { dry_run: true }]) {
        const answer = await revoke(id, body)
        refused(answer, 404, 'treaty_not_found')
        expect(await eventsOf(na, answer)).toEqual([])
      }
    })
  })

  describe('dry_run', () => {
    it('returns the paths that would be lost and changes nothing', async () => {
      const own = await startTestAuthority({ clock: new ManualClock(), settings })
      try {
        const id = await issue('B', own)
        await seedTreaties(own.parts, [
          { treaty_id: 'b-c', from: 'B', to: 'C' },
          { treaty_id: 'z-a', from: 'Z', to: 'TEST-NET' },
          { treaty_id: 'a-d', from: 'TEST-NET', to: 'D' },
        ])
        const before = [
          (await own.request('GET', '/recognition-graph')).text,
          (await own.request('GET', '/recognition-treaties')).text,
        ]
        const answer = await revoke(id, { dry_run: true, reason: 'only asking' }, 'privileged', own)
        expect(accepted(answer)).toEqual({
          dry_run: true,
          treaty_id: id,
          status: 'active',
          would_change: true,
          paths_lost: {
            count: 4,
            complete: true,
            sample: [
              { from: 'TEST-NET', to: 'B' },
              { from: 'TEST-NET', to: 'C' },
              { from: 'Z', to: 'B' },
              { from: 'Z', to: 'C' },
            ],
            direct_recognition_lost: true,
          },
          attestations_no_longer_accepted: { issuer_sovereign_id: 'B', all: true },
        })
        expect(await eventsOf(own, answer)).toEqual([])
        expect([
          (await own.request('GET', '/recognition-graph')).text,
          (await own.request('GET', '/recognition-treaties')).text,
        ]).toEqual(before)
      } finally {
        await own.stop()
      }
    })

    it('reports no loss while another active treaty connects the two', async () => {
      const [one, other] = [await issue('TWICE-NET'), await issue('TWICE-NET')]
      const preview = async (id: string): Promise<JsonObject> => accepted(await revoke(id, { dry_run: true }))
      expect(await preview(one)).toMatchObject({
        would_change: true,
        paths_lost: { count: 0, complete: true, sample: [], direct_recognition_lost: false },
        attestations_no_longer_accepted: { issuer_sovereign_id: 'TWICE-NET', all: false },
      })
      accepted(await revoke(one))
      expect(await preview(other)).toMatchObject({
        paths_lost: { count: 1, direct_recognition_lost: true },
        attestations_no_longer_accepted: { all: true },
      })
    })

    it('of a revoked treaty reports no change', async () => {
      const id = await issue('GONE-NET')
      accepted(await revoke(id))
      expect(accepted(await revoke(id, { dry_run: true }))).toMatchObject({
        status: 'revoked',
        would_change: false,
        paths_lost: { count: 0, direct_recognition_lost: false },
      })
    })
  })
})
