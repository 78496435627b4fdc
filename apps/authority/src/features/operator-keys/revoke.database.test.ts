import { type JsonObject, writeJson } from '@chancery/protocol'
import { type TestAuthority, type TestResponse, accepted, refused, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { countEventsOf } from '../../audit/key-activity.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const UNKNOWN = 'Unknown admin key'

describe('POST /admin/operator-keys/{key_id}/revoke', () => {
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority({
      operators: {
        privileged: 'privileged',
        standard: 'standard',
        a: 'privileged',
        b: 'standard',
        c: 'privileged',
        self: 'privileged',
        'team/ops:1@x+y=': 'standard',
      },
    })
  })
  afterAll(() => na.stop())
  const revoke = (name: string, body: JsonObject = {}, as = 'privileged', authority = na): Promise<TestResponse> =>
    authority.as(as)('POST', `/admin/operator-keys/${encodeURIComponent(`op-${name}`)}/revoke`, body)
  const ping = (name: string, authority = na): Promise<TestResponse> =>
    authority.as(name)('GET', '/admin/policy/history')

  describe('200', () => {
    it('ends the key from its next request on, and returns the remaining keys', async () => {
      accepted(await ping('a'))
      const answer = accepted(await revoke('a', { reason: 'laptop lost' }))
      expect(answer).toEqual({
        key_id: 'op-a',
        revoked: true,
        already_revoked: false,
        revoked_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?Z$/),
        reason: 'laptop lost',
        remaining_active_keys: 6,
        remaining_privileged_keys: 3,
      })
      expect(refused(await ping('a'), 401, 'admin_auth_failed')['message']).toBe(UNKNOWN)
      const events = await na.auditEvents('operator_key_revoked')
      expect(events.map((event) => event['details'])).toEqual([
        {
          key_id: 'op-a',
          reason: 'laptop lost',
          revoked_by: 'op-privileged',
          forced: false,
          remote_addr: '127.0.0.1',
          request_id: expect.any(String),
        },
      ])
      const rows = await na.core.database.read
        .selectFrom('revoked_operator_keys')
        .select(['key_id', 'reason', 'revoked_by'])
        .execute()
      expect(rows).toEqual([{ key_id: 'op-a', reason: 'laptop lost', revoked_by: 'op-privileged' }])
    })

    it('repeated returns the state, keeps the first reason and audits once', async () => {
      expect(accepted(await revoke('a', { reason: 'again' }))).toEqual({
        key_id: 'op-a',
        revoked: true,
        already_revoked: true,
      })
      expect(await na.auditEvents('operator_key_revoked')).toHaveLength(1)
      const row = await na.core.database.read
        .selectFrom('revoked_operator_keys')
        .select('reason')
        .where('key_id', '=', 'op-a')
        .executeTakeFirst()
      expect(row?.reason).toBe('laptop lost')
    })

    it('uses the reason unspecified when none is given, and accepts 256 characters of any script', async () => {
      expect(accepted(await revoke('b'))['reason']).toBe('unspecified')
      const reason = '😀'.repeat(256)
      expect(accepted(await revoke('c', { reason }))['reason']).toBe(reason)
    })

    it('lets a key revoke itself', async () => {
      accepted(await revoke('self', {}, 'self'))
      refused(await ping('self'), 401, 'admin_auth_failed')
    })

    it('accepts an id with every character an id may have', async () => {
      accepted(await ping('team/ops:1@x+y='))
      expect(accepted(await revoke('team/ops:1@x+y='))['key_id']).toBe('op-team/ops:1@x+y=')
      refused(await ping('team/ops:1@x+y='), 401, 'admin_auth_failed')
    })

    it('stays revoked after a restart on the same database', async () => {
      const { database } = na
      const again = await startTestAuthority({ database, operators: { privileged: 'privileged', a: 'privileged' } })
      expect(refused(await ping('a', again), 401, 'admin_auth_failed')['message']).toBe(UNKNOWN)
      accepted(await ping('privileged', again))
      await again.stop()
    })
  })

  describe('400', () => {
    it.each<[string, JsonObject]>([
      ['257 characters', { reason: 'r'.repeat(257) }],
      ['a number', { reason: 7 }],
      ['null', { reason: null }],
      ['an empty string', { reason: '' }],
      ['a line break', { reason: 'a\nb' }],
    ])('a reason of %s is invalid_input', async (_what, body) => {
      refused(await revoke('standard', body), 400, 'invalid_input')
      accepted(await ping('standard'))
    })

    it('an unknown member is unexpected_field', async () => {
      expect(refused(await revoke('standard', { why: 'x' }), 400, 'unexpected_field')['details']).toEqual({
        fields: ['why'],
      })
    })
  })

  describe('401 and 403', () => {
    it('a revoked key cannot revoke', async () => {
      refused(await revoke('standard', {}, 'a'), 401, 'admin_auth_failed')
      accepted(await ping('standard'))
    })

    it('requires the privileged tier, before it reports whether the key exists', async () => {
      refused(await revoke('privileged', {}, 'standard'), 403, 'insufficient_operator_tier')
      refused(await revoke('nobody', {}, 'standard'), 403, 'insufficient_operator_tier')
    })
  })

  describe('404', () => {
    it.each(['nobody', '', 'x'.repeat(500), 'ë', 'a b', '__proto__', 'constructor'])(
      '«%s» is unknown_operator_key',
      async (name) => {
        refused(await revoke(name), 404, 'unknown_operator_key')
      },
    )
  })

  describe('409', () => {
    it('the last usable key stays usable', async () => {
      const pair = await startTestAuthority()
      accepted(await revoke('standard', {}, 'privileged', pair))
      refused(await revoke('privileged', {}, 'privileged', pair), 409, 'last_active_operator_key')
      accepted(await ping('privileged', pair))
      expect(accepted(await revoke('standard', {}, 'privileged', pair))['already_revoked']).toBe(true)
      expect(await pair.auditEvents('operator_key_revoked')).toHaveLength(1)
      await pair.stop()
    })

    it('the last privileged key needs force and a reason, also in a dry run', async () => {
      const pair = await startTestAuthority({ operators: { boss: 'privileged', clerk: 'standard', other: 'standard' } })
      const tier = { tier: 'privileged' }
      for (const body of [
        {},
        { reason: 'left' },
        { dry_run: true },
        { force: true },
        { force: false, reason: 'left' },
      ]) {
        const error = refused(await revoke('boss', body, 'boss', pair), 409, 'last_active_operator_key')
        expect(error['details']).toEqual(tier)
        // A standard key remains, so this is not the last usable one.
        expect(error['message']).toMatch(/^The last privileged operator key must stay\./)
      }
      refused(await revoke('boss', { force: 1, reason: 'left' }, 'boss', pair), 400, 'invalid_input')
      accepted(await ping('boss', pair))
      const counts = { remaining_active_keys: 2, remaining_privileged_keys: 0 }
      const forced = { force: true, reason: 'left' }
      expect(accepted(await revoke('boss', { ...forced, dry_run: true }, 'boss', pair))).toMatchObject(counts)
      expect(accepted(await revoke('clerk', { dry_run: true }, 'boss', pair))).toMatchObject({
        remaining_active_keys: 2,
        remaining_privileged_keys: 1,
      })
      expect(accepted(await revoke('boss', forced, 'boss', pair))).toMatchObject(counts)
      const [event] = await pair.auditEvents('operator_key_revoked')
      expect(event?.['details']).toMatchObject({ key_id: 'op-boss', reason: 'left', forced: true })
      refused(await ping('boss', pair), 401, 'admin_auth_failed')
      await pair.stop()
    })

    it('the last usable key stays usable, with force as well', async () => {
      const pair = await startTestAuthority()
      accepted(await revoke('standard', {}, 'privileged', pair))
      const forced = { force: true, reason: 'left' }
      const error = refused(await revoke('privileged', forced, 'privileged', pair), 409, 'last_active_operator_key')
      expect(error['details']).toEqual({})
      await pair.stop()
    })

    it('two privileged keys that revoke each other concurrently leave one', async () => {
      const trio = await startTestAuthority({ operators: { a: 'privileged', b: 'privileged', c: 'standard' } })
      const answers = await Promise.all([revoke('b', {}, 'a', trio), revoke('a', {}, 'b', trio)])
      expect(answers.map((answer) => answer.status).filter((status) => status === 200)).toHaveLength(1)
      await trio.stop()
    })

    it('counts configured keys only: a revoked key of an earlier configuration does not count', async () => {
      const first = await startTestAuthority({ operators: { x: 'privileged', y: 'privileged', z: 'privileged' } })
      accepted(await revoke('y', {}, 'x', first))
      const second = await startTestAuthority({
        database: first.database,
        operators: { x: 'privileged', y: 'privileged' },
      })
      refused(await revoke('x', {}, 'x', second), 409, 'last_active_operator_key')
      await second.stop()
      await first.stop()
    })

    it.each([1, 2, 3])('two keys that revoke each other concurrently leave one (round %i)', async () => {
      const pair = await startTestAuthority({ operators: { a: 'privileged', b: 'privileged' } })
      const answers = await Promise.all([revoke('b', {}, 'a', pair), revoke('a', {}, 'b', pair)])
      expect(answers.map((answer) => answer.status).filter((status) => status === 200)).toHaveLength(1)
      for (const answer of answers) if (answer.status !== 200) expect([401, 409]).toContain(answer.status)
      const alive = [await ping('a', pair), await ping('b', pair)].filter((answer) => answer.status === 200)
      expect(alive).toHaveLength(1)
      await pair.stop()
    })
  })

  it('activity counts page after page, also events of one moment, and states where it stopped', async () => {
    const { database } = na.core
    // Long before everything else: events of one moment over more than two pages, and older ones.
    const times = ['1999-01-02T00:00:00.000000Z', '1999-01-01T00:00:00.000000Z'] as const
    const rows = times.flatMap((created_at, at) =>
      Array.from({ length: at === 0 ? 2100 : 300 }, (_, n) => ({
        event_id: `old-${at}-${n}`,
        event_type: 'invite_created',
        event_json: writeJson({ details: { key_id: n % 2 === 0 ? 'op-old' : 'op-older' } }),
        created_at,
      })),
    )
    for (let at = 0; at < rows.length; at += 400)
      await rowsOf(database)
        .insertInto('audit_events')
        .values(rows.slice(at, at + 400))
        .execute()
    const look = { key_id: 'op-old', since: '1999-01-01T00:00:00.000000Z', hasTime: () => true }
    const [first_at, last_at] = [times[1], times[0]]
    const all = { event_type: 'invite_created', count: 1200, first_at, last_at }
    expect(await countEventsOf(database, look)).toEqual({ events: [all], cut: undefined })
    expect((await countEventsOf(database, { ...look, most: 1000 })).cut).toBeDefined()
    expect((await countEventsOf(database, { ...look, hasTime: () => false })).cut).toBeDefined()
    await rowsOf(database).deleteFrom('audit_events').where('event_id', 'like', 'old-%').execute()
  })
})
