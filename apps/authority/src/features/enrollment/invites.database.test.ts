import { type JsonObject, hours, seconds, sha256Hex, writeInstant } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  nodeCaller,
  refused,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { NodeCaller, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  const operators = {
    privileged: 'privileged',
    standard: 'standard',
    other: 'standard',
    gone: 'standard',
    late: 'standard',
  } as const
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' }, operators })
})
afterAll(() => na.stop())

const batch = (body: JsonObject, as = 'standard', key?: string): Promise<TestResponse> =>
  na.as(as)('POST', '/admin/invites', body, key === undefined ? {} : { headers: { 'Idempotency-Key': key } })
const list = async (query = '', as = 'standard'): Promise<JsonObject> =>
  accepted(await na.as(as)('GET', `/admin/invites${query}`))
const invitesOf = (page: JsonObject): readonly JsonObject[] => page['invites'] as readonly JsonObject[]
const withdraw = (body: JsonObject, as = 'privileged'): Promise<TestResponse> =>
  na.as(as)('POST', '/admin/invites/withdraw', body)
const fingerprintOf = (token: string): string => sha256Hex(token).slice(0, 16)

let counter = 0
async function node(): Promise<NodeCaller> {
  counter += 1
  return nodeCaller(na.url, await testSigner('node', `invites-${counter}`), () => clock.now())
}
async function made(
  count: number,
  as = 'standard',
  more: JsonObject = {},
): Promise<{ tokens: string[]; batch_id: string }> {
  const answer = accepted(await batch({ count, ...more }, as), 201)
  return { tokens: answer['token_ids'] as string[], batch_id: String(answer['batch_id']) }
}

describe('POST /admin/invites', () => {
  it('creates 1000 invites in one call, each valid for one join, with one audit event that counts them', async () => {
    const answer = await batch({ count: 1000, roles: ['role:service:index'], token_expiry_hours: 2 })
    const { count, batch_id, expires_at, token_ids, ...rest } = accepted(answer, 201)
    expect([count, expires_at, rest]).toEqual([1000, writeInstant(clock.now() + hours(2)), {}])
    const tokens = token_ids as string[]
    expect(new Set(tokens).size).toBe(1000)
    for (const token of tokens) expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/)
    const events = await eventsOf(na, answer)
    expect(events.map((event) => event['event_type'])).toEqual(['invites_created'])
    const fingerprints = tokens.map(fingerprintOf)
    expect(detailsOf(events[0])).toMatchObject({ count: 1000, batch_id, key_id: 'op-standard' })
    expect(detailsOf(events[0])['invite_fingerprints']).toEqual(fingerprints)
    expect(JSON.stringify(events)).not.toContain(tokens[0])
    const joined = accepted(await (await node()).join(tokens[999] ?? ''), 201)
    expect(joined['roles']).toEqual(['role:service:index'])
    refused(await (await node()).join(tokens[999] ?? ''), 403, 'invalid_invite_token')
    accepted(await withdraw({ batch_id: String(batch_id) }))
  })

  it.each<[string, JsonObject, string]>([
    ['no count', {}, 'invalid_input'],
    ['none', { count: 0 }, 'invalid_input'],
    ['1001', { count: 1001 }, 'invalid_input'],
    ['a string', { count: '5' }, 'invalid_input'],
    ['a recipient', { count: 2, recipient_public_key: null }, 'unexpected_field'],
    ['a wrong role', { count: 2, roles: ['client'] }, 'invalid_role'],
    ['a wrong lifetime', { count: 2, token_expiry_hours: 721 }, 'invalid_token_expiry_hours'],
  ])('refuses %s', async (_, body, code) => {
    refused(await batch(body), 400, code)
  })

  it('never repeats its secrets: the same idempotency key is a conflict and creates nothing', async () => {
    const { batch_id } = accepted(await batch({ count: 2 }, 'other', 'fleet-1'), 201)
    refused(await batch({ count: 2 }, 'other', 'fleet-1'), 409, 'conflict')
    expect((await list('?created_by=op-other'))['count']).toBe(2)
    accepted(await withdraw({ batch_id: String(batch_id) }))
  })
})

describe('GET /admin/invites', () => {
  it('shows open invites by fingerprint, and others by state, maker and batch', async () => {
    const { tokens, batch_id } = await made(3)
    const [used = '', taken = '', open = ''] = tokens
    const joiner = await node()
    accepted(await joiner.join(used), 201)
    accepted(await withdraw({ token_fingerprints: [fingerprintOf(taken)] }))
    const byState = async (state: string): Promise<readonly JsonObject[]> =>
      invitesOf(await list(`?batch_id=${batch_id}&state=${state}`))
    expect(await byState('open')).toEqual([
      {
        token_fingerprint: fingerprintOf(open),
        state: 'open',
        roles: ['role:client'],
        max_validity_hours: 168,
        recipient_public_key: null,
        created_at: writeInstant(clock.now()),
        created_by: 'op-standard',
        batch_id,
        expires_at: writeInstant(clock.now() + hours(24)),
        used_at: null,
        used_by_key: null,
        withdrawn_at: null,
        withdrawn_by: null,
      },
    ])
    const now = writeInstant(clock.now())
    expect(await byState('used')).toMatchObject([{ token_fingerprint: fingerprintOf(used), used_at: now }])
    expect((await byState('used'))[0]?.['used_by_key']).toBe(joiner.signer.publicKey)
    expect(await byState('withdrawn')).toMatchObject([
      { token_fingerprint: fingerprintOf(taken), used_at: null, withdrawn_at: now, withdrawn_by: 'op-privileged' },
    ])
    expect(await byState('all')).toHaveLength(3)
    clock.advance(24 * 3600 + 1)
    expect(await byState('expired')).toMatchObject([{ token_fingerprint: fingerprintOf(open), state: 'expired' }])
    expect(await byState('open')).toEqual([])
  })

  it('lists all invites by cursor, each once, oldest first', async () => {
    const seen: string[] = []
    const first = await made(4, 'gone')
    clock.advance(1)
    const second = await made(3, 'gone')
    let cursor = ''
    for (let pages = 0; pages < 9; pages += 1) {
      const page = await list(`?created_by=op-gone&limit=2${cursor}`)
      expect(page['total']).toBe(7)
      seen.push(...invitesOf(page).map((row) => String(row['token_fingerprint'])))
      if (page['next_cursor'] === null) break
      cursor = `&cursor=${String(page['next_cursor'])}`
    }
    expect(new Set(seen).size).toBe(7)
    expect(new Set(seen.slice(0, 4))).toEqual(new Set(first.tokens.map(fingerprintOf)))
    expect(new Set(seen.slice(4))).toEqual(new Set(second.tokens.map(fingerprintOf)))
  })

  it.each(['state=gone', 'created_by=a%20b', 'batch_id=1', 'limit=0', 'cursor=MXx4'])('refuses %s', async (query) => {
    expect((await na.as('standard')('GET', `/admin/invites?${query}`)).status).toBe(400)
  })
})

describe('POST /admin/invites/withdraw', () => {
  it('ends an invite for every later join, and audits it once', async () => {
    const { tokens } = await made(2)
    const [token = '', stored = ''] = tokens
    const body = { token_fingerprints: [fingerprintOf(token)], reason: 'sent to the wrong person' }
    expect(accepted(await withdraw({ ...body, dry_run: true }))).toEqual({
      dry_run: true,
      would_change: true,
      open_invites: 1,
      unknown_fingerprints: [],
    })
    const answer = await withdraw(body)
    expect(accepted(answer)).toEqual({ withdrawn: 1, unknown_fingerprints: [] })
    const [event] = await eventsOf(na, answer)
    expect(event?.['event_type']).toBe('invites_withdrawn')
    expect(detailsOf(event)).toMatchObject({ count: 1, reason: 'sent to the wrong person', key_id: 'op-privileged' })
    expect(detailsOf(event)['invite_fingerprints']).toEqual([fingerprintOf(token)])
    refused(await (await node()).join(token), 403, 'invalid_invite_token')
    accepted(await (await node()).join(stored), 201)
    const again = await withdraw(body)
    expect(accepted(again)).toEqual({ withdrawn: 0, unknown_fingerprints: [] })
    expect(await eventsOf(na, again)).toEqual([])
  })

  it('names unknown fingerprints', async () => {
    const answer = accepted(await withdraw({ token_fingerprints: ['0123456789abcdef', '0123456789abcdef'] }))
    expect(answer).toEqual({ withdrawn: 0, unknown_fingerprints: ['0123456789abcdef'] })
  })

  it('lets a standard key end its own invites only', async () => {
    const mine = await made(1, 'other')
    const theirs = await made(1, 'standard')
    const both = { token_fingerprints: [...mine.tokens, ...theirs.tokens].map(fingerprintOf) }
    refused(await withdraw(both, 'other'), 403, 'insufficient_operator_tier')
    refused(await withdraw({ batch_id: theirs.batch_id }, 'other'), 403, 'insufficient_operator_tier')
    refused(await withdraw({ created_by: 'op-standard' }, 'other'), 403, 'insufficient_operator_tier')
    expect(accepted(await withdraw({ batch_id: mine.batch_id }, 'other'))['withdrawn']).toBe(1)
    accepted(await (await node()).join(theirs.tokens[0] ?? ''), 201)
  })

  it.each<[string, JsonObject]>([
    ['nothing', {}],
    ['two choices', { created_by: 'op-standard', batch_id: '00000000-0000-4000-8000-000000000000' }],
    ['a token', { token_fingerprints: ['x'.repeat(43)] }],
    ['an empty list', { token_fingerprints: [] }],
    ['1001 fingerprints', { token_fingerprints: Array(1001).fill('0123456789abcdef') }],
    ['a wrong key id', { created_by: 'a b' }],
    ['a wrong batch', { batch_id: 7 }],
  ])('refuses %s', async (_, body) => {
    refused(await withdraw(body), 400, 'invalid_input')
  })

  it('concurrent with a join: one of them succeeds', async () => {
    const { tokens } = await made(8)
    const results = await Promise.all(
      tokens.map(async (token) => {
        const joiner = await node()
        const [joined, taken] = await Promise.all([
          joiner.join(token),
          withdraw({ token_fingerprints: [fingerprintOf(token)] }),
        ])
        return [joined.status, accepted(taken)['withdrawn']]
      }),
    )
    for (const result of results)
      expect([
        [201, 0],
        [403, 1],
      ]).toContainEqual(result)
  })
})

describe('revoking an operator key', () => {
  it('returns the number of its open invites, and ends them with it on request', async () => {
    const { tokens } = await made(3, 'gone')
    const before = Number((await list('?created_by=op-gone'))['total'] ?? (await list('?created_by=op-gone'))['count'])
    const path = '/admin/operator-keys/op-gone/revoke'
    const forecast = accepted(await na.as('privileged')('POST', path, { dry_run: true }))
    expect(forecast).toMatchObject({ would_change: true, open_invites: before })
    const answer = await na.as('privileged')('POST', path, { reason: 'left', withdraw_invites: true })
    expect(accepted(answer)).toMatchObject({ revoked: true, withdrawn_invites: before })
    const types = (await eventsOf(na, answer)).map((event) => event['event_type'])
    expect(types.toSorted()).toEqual(['invites_withdrawn', 'operator_key_revoked'])
    refused(await (await node()).join(tokens[0] ?? ''), 403, 'invalid_invite_token')
    refused(await na.as('privileged')('POST', path, { withdraw_invites: 1 }), 400, 'invalid_input')
  })

  it('lets no running call create invites after the revocation', async () => {
    const db = rowsOf(na.core.database)
    const row = {
      key_id: 'op-late',
      revoked_at: writeInstant(clock.now()),
      reason: 'stolen',
      revoked_by: 'op-privileged',
    }
    accepted(await na.as('late')('POST', '/admin/invite', {}), 201)
    // The version is not raised, so authentication does not see the revocation.
    await db.insertInto('revoked_operator_keys').values(row).execute()
    const late = await batch({ count: 2 }, 'late')
    refused(late, 401, 'admin_auth_failed')
    refused(await na.as('late')('POST', '/admin/invite', {}), 401, 'admin_auth_failed')
    expect((await list('?created_by=op-late&state=all'))['count']).toBe(1)
    const events = await eventsOf(na, late)
    expect(events.map((event) => [event['event_type'], detailsOf(event)['reason']])).toEqual([
      ['admin_auth_failed', 'revoked_key'],
    ])
    await db.deleteFrom('revoked_operator_keys').where('key_id', '=', 'op-late').execute()
  })

  it('lists the events of the key, by type and time, without events of others that name it', async () => {
    const path = '/admin/operator-keys/op-other/activity'
    const start = clock.now()
    await made(1, 'other')
    clock.advance(10)
    await made(1, 'other')
    refused(await na.as('other')('POST', '/admin/policy', {}), 403, 'insufficient_operator_tier')
    refused(await na.as('other')('GET', path, undefined, { signedBody: { x: 1 } }), 401, 'admin_auth_failed')
    const found = accepted(await na.as('privileged')('GET', `${path}?days=1`))
    expect(found).toMatchObject({
      key_id: 'op-other',
      revoked: false,
      complete: true,
      until: writeInstant(clock.now()),
    })
    expect(found['from']).toBe(writeInstant(clock.now() - hours(24)))
    const events = found['events'] as readonly JsonObject[]
    const counted = new Map(events.map((event) => [event['event_type'], event]))
    expect(counted.get('invites_created')).toMatchObject({ last_at: writeInstant(start + seconds(10)) })
    expect(counted.get('admin_authz_denied')?.['count']).toBe(1)
    expect(counted.has('admin_auth_failed')).toBe(false)
    expect(counted.has('operator_key_revoked')).toBe(false)
    const boss = accepted(await na.as('privileged')('GET', '/admin/operator-keys/op-privileged/activity'))
    expect(boss['events']).toContainEqual(expect.objectContaining({ event_type: 'operator_key_revoked', count: 1 }))
    const gone = accepted(await na.as('privileged')('GET', '/admin/operator-keys/op-gone/activity'))
    expect(gone).toMatchObject({ revoked: true, open_invites: 0 })
  })

  it('is for privileged keys, and accepts only existing keys and whole days', async () => {
    const ask = (path: string, as = 'privileged'): Promise<TestResponse> =>
      na.as(as)('GET', `/admin/operator-keys/${path}`)
    refused(await ask('op-other/activity', 'standard'), 403, 'insufficient_operator_tier')
    refused(await ask('nobody/activity'), 404, 'unknown_operator_key')
    for (const days of ['0', '3651', 'x', '1.5'])
      refused(await ask(`op-other/activity?days=${days}`), 400, 'invalid_input')
  })
})
