import { JsonFloat, hours, sha256Hex, writeInstant, writeSortable } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import { ManualClock, accepted, detailsOf, eventsOf, refused, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Tables } from '../../database/tables.ts'

const clock = new ManualClock()
const settings = { NA_CLOCK_CHECK: 'off' }
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings })
})
afterAll(() => na.stop())

const invite = (body?: JsonObject, key?: string): Promise<TestResponse> =>
  na.as('standard')('POST', '/admin/invite', body, key === undefined ? {} : { headers: { 'Idempotency-Key': key } })

async function storedInvite(answer: TestResponse): Promise<Tables['invite_tokens'] | undefined> {
  const digest = sha256Hex(String(accepted(answer, 201)['token_id']))
  return na.core.database.read
    .selectFrom('invite_tokens')
    .selectAll()
    .where('token_digest', '=', digest)
    .executeTakeFirst()
}

async function countInvites(): Promise<number> {
  const rows = await na.core.database.read.selectFrom('invite_tokens').select('token_digest').execute()
  return rows.length
}

/** The whole content of the database, as one string. */
async function dump(): Promise<string> {
  const names = ['invite_tokens', 'idempotency_keys', 'audit_events', 'issued_certs', 'rate_limit_windows'] as const
  const tables = await Promise.all(names.map((name) => na.core.database.read.selectFrom(name).selectAll().execute()))
  return JSON.stringify(tables)
}

describe('POST /admin/invite', () => {
  describe('201', () => {
    it('returns an unguessable token once, its expiry, and the defaults of the table', async () => {
      const answer = await invite()
      const { token_id, expires_at, ...rest } = accepted(answer, 201)
      expect(token_id).toMatch(/^[A-Za-z0-9_-]{43}$/)
      expect(expires_at).toBe(writeInstant(clock.now() + hours(24)))
      expect(rest).toEqual({})
      expect(await storedInvite(answer)).toEqual({
        token_digest: sha256Hex(String(token_id)),
        assigned_roles_json: '["role:client"]',
        max_validity_hours: 168,
        recipient_public_key: null,
        created_at: writeSortable(clock.now()),
        expires_at: writeSortable(clock.now() + hours(24)),
        used_at: null,
        used_by_key: null,
        created_by: 'op-standard',
        batch_id: null,
        withdrawn_at: null,
        withdrawn_by: null,
        label: null,
      })
    })

    it('stores the requested members, roles in their order', async () => {
      const { publicKey } = await testSigner('recipient')
      const roles = ['role:service:index', 'role:anchor']
      const body = { roles, max_validity_hours: 72, token_expiry_hours: 1, recipient_public_key: publicKey }
      const answer = await invite(body)
      expect(accepted(answer, 201)['expires_at']).toBe(writeInstant(clock.now() + hours(1)))
      expect(await storedInvite(answer)).toMatchObject({
        assigned_roles_json: JSON.stringify(roles),
        max_validity_hours: 72,
        recipient_public_key: publicKey,
      })
    })

    it('audits the operator and the invite, by a fingerprint of the token', async () => {
      const { publicKey } = await testSigner('recipient')
      const answer = await invite({ recipient_public_key: publicKey })
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['invite_created'])
      expect(detailsOf(events[0])).toEqual({
        token_fingerprint: sha256Hex(String(accepted(answer, 201)['token_id'])).slice(0, 16),
        roles: ['role:client'],
        recipient_public_key: publicKey,
        key_id: 'op-standard',
        remote_addr: '127.0.0.1',
        request_id: answer.headers['x-request-id'],
      })
    })

    it.each<[string, JsonObject]>([
      ['the minimum of every member', { max_validity_hours: 1, token_expiry_hours: 1 }],
      ['the maximum of every member', { max_validity_hours: 8760, token_expiry_hours: 720 }],
      ['sixteen roles', { roles: Array.from({ length: 16 }, (_, index) => `role:r${index}`) }],
      ['the longest role name', { roles: [`role:${'a'.repeat(64)}`] }],
      ['every character a role may have', { roles: ['role:9.z_Z:-'] }],
      ['a recipient of null', { recipient_public_key: null }],
    ])('accepts %s', async (_, body) => {
      accepted(await invite(body), 201)
    })

    it('never stores the token itself, also with an idempotency key', async () => {
      const token = String(accepted(await invite({}, 'secret-1'), 201)['token_id'])
      expect(await dump()).not.toContain(token)
    })

    it('gives every caller a different token', async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => invite()))
      expect(new Set(answers.map((answer) => accepted(answer, 201)['token_id'])).size).toBe(20)
    })
  })

  describe('400', () => {
    // 24.0 is a double however round it is (protocol/core 1.1).
    const wrongIntegers: JsonValue[] = [0, -1, '24', true, null, new JsonFloat(1.5), new JsonFloat(24), [], 2 ** 40]
    const cases: [string, JsonObject, string][] = [
      ...[[], 'role:client', null, {}, ['client'], ['role:'], ['role:a b'], ['role:.a'], [7]].map(
        (roles): [string, JsonObject, string] => [`roles ${JSON.stringify(roles)}`, { roles }, 'invalid_role'],
      ),
      ['a repeated role', { roles: ['role:a', 'role:a'] }, 'invalid_role'],
      ['seventeen roles', { roles: Array.from({ length: 17 }, (_, index) => `role:r${index}`) }, 'invalid_role'],
      ['a role name of 65 characters', { roles: [`role:${'a'.repeat(65)}`] }, 'invalid_role'],
      ...[...wrongIntegers, 8761].map((hours): [string, JsonObject, string] => [
        `max_validity_hours ${JSON.stringify(hours)}`,
        { max_validity_hours: hours },
        'invalid_max_validity_hours',
      ]),
      ...[...wrongIntegers, 721].map((hours): [string, JsonObject, string] => [
        `token_expiry_hours ${JSON.stringify(hours)}`,
        { token_expiry_hours: hours },
        'invalid_token_expiry_hours',
      ]),
      ...['', 'abc', 7, {}, 'A'.repeat(43), `${'A'.repeat(43)}=`].map((key): [string, JsonObject, string] => [
        `recipient_public_key ${JSON.stringify(key)}`,
        { recipient_public_key: key },
        'invalid_recipient_public_key',
      ]),
    ]
    it.each(cases)('refuses %s', async (_, body, code) => {
      refused(await invite(body), 400, code)
    })

    it('names every unknown member', async () => {
      const error = refused(await invite({ role: ['role:a'], validity: 1 }), 400, 'unexpected_field')
      expect(error['details']).toEqual({ fields: ['role', 'validity'] })
    })

    it('stores and audits nothing', async () => {
      const before = await countInvites()
      const answer = await invite({ roles: [] })
      expect(await countInvites()).toBe(before)
      expect(await eventsOf(na, answer)).toEqual([])
    })

    it('decides in the order of the table', async () => {
      const wrong = { roles: [], max_validity_hours: 0, token_expiry_hours: 0, recipient_public_key: '' }
      const codes = [
        'invalid_role',
        'invalid_max_validity_hours',
        'invalid_token_expiry_hours',
        'invalid_recipient_public_key',
      ]
      const names = Object.keys(wrong)
      for (const [index, code] of codes.entries()) {
        const rest = Object.fromEntries(Object.entries(wrong).filter(([name]) => names.indexOf(name) >= index))
        refused(await invite(rest), 400, code)
      }
    })

    it.each(['', ' ', 'a b', 'a/b', 'é', 'a'.repeat(129)])('refuses the idempotency key %j', async (key) => {
      const before = await countInvites()
      // Header values are bytes: what is sent for é is not in the alphabet either way.
      const answer = await invite({}, key === 'é' ? 'Ã©' : key)
      refused(answer, 400, 'bad_request')
      expect(await countInvites()).toBe(before)
    })

    it('refuses two idempotency keys', async () => {
      const headers = { 'Idempotency-Key': ['a', 'b'] }
      refused(await na.as('standard')('POST', '/admin/invite', {}, { headers }), 400, 'bad_request')
    })
  })

  describe('400 with NA_ALLOWED_ROLES', () => {
    let narrow: TestAuthority
    beforeAll(async () => {
      narrow = await startTestAuthority({
        clock,
        settings: { ...settings, NA_ALLOWED_ROLES: 'role:client, role:service:*' },
      })
    })
    afterAll(() => narrow.stop())

    it.each<[string[], number]>([
      [['role:client'], 201],
      [['role:service:index', 'role:client'], 201],
      [['role:service:'], 201],
      [['role:clients'], 400],
      [['role:anchor'], 400],
      [['role:client', 'role:anchor'], 400],
    ])('responds to roles %j with %d', async (roles, status) => {
      const answer = await narrow.as('standard')('POST', '/admin/invite', { roles })
      if (status === 400) refused(answer, 400, 'invalid_role')
      else accepted(answer, 201)
    })
  })

  describe('401', () => {
    it('refuses an unauthenticated caller', async () => {
      refused(await na.request('POST', '/admin/invite', { body: {} }), 401, 'admin_auth_failed')
    })
  })

  describe('409', () => {
    it('refuses the repeat of a call that made a token: the token is shown once', async () => {
      const before = await countInvites()
      accepted(await invite({ max_validity_hours: 5 }, 'once'), 201)
      const again = await invite({ max_validity_hours: 5 }, 'once')
      refused(again, 409, 'conflict')
      expect(await countInvites()).toBe(before + 1)
      expect(await eventsOf(na, again)).toEqual([])
    })

    it('refuses another body under the same key', async () => {
      accepted(await invite({}, 'other-body'), 201)
      refused(await invite({ max_validity_hours: 5 }, 'other-body'), 409, 'conflict')
    })

    it('serves exactly one of many concurrent callers with one key', async () => {
      const before = await countInvites()
      const answers = await Promise.all(Array.from({ length: 10 }, () => invite({}, 'race')))
      expect(answers.map((answer) => answer.status).sort()).toEqual([201, ...Array.from({ length: 9 }, () => 409)])
      expect(await countInvites()).toBe(before + 1)
    })

    it('separates keys of different operators, and stores them for a day', async () => {
      accepted(await invite({}, 'scoped'), 201)
      const headers = { 'Idempotency-Key': 'scoped' }
      accepted(await na.as('privileged')('POST', '/admin/invite', {}, { headers }), 201)
      clock.advance(86_399)
      refused(await invite({}, 'scoped'), 409, 'conflict')
      clock.advance(1)
      accepted(await invite({}, 'scoped'), 201)
    })

    it('does not store a refused call', async () => {
      refused(await invite({ roles: [] }, 'mended'), 400, 'invalid_role')
      accepted(await invite({ roles: ['role:a'] }, 'mended'), 201)
    })
  })
})
