// oxlint-disable max-lines -- one matrix of headers, keys and nonces with the order of its checks
import { type Instant, type JsonObject, seconds, signOperatorRequest, writeInstant } from '@chancery/protocol'
import { readTarget, systemClock } from '@chancery/service-kit'
import { ManualClock, accepted, currentBackend, refused, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { coreJobs } from '../startup/core-jobs.ts'
import { rowsOf } from '../testing/rows.suite.ts'

const NAMES = ['X-Admin-Key-Id', 'X-Admin-Timestamp', 'X-Admin-Nonce', 'X-Admin-Signature'] as const
const UNKNOWN = 'Unknown admin key'

/** One operator request before it is signed and sent. Defects change it. */
interface Draft {
  as: string
  method: string
  target: string
  body: JsonObject
  rawBody?: string
  timestamp: string
  nonce: string
  from: string
  /** Applied after signing. */
  edits: ((headers: Record<string, string | string[]>) => void)[]
}

interface Sent {
  readonly answer: TestResponse
  readonly requestId: string
  readonly draft: Draft
}

let counter = 0

function draftFor(na: TestAuthority, changes: Partial<Draft> = {}): Draft {
  counter += 1
  return {
    as: 'privileged',
    method: 'POST',
    target: '/admin/policy',
    body: { policy_id: `p-${counter}` },
    timestamp: writeInstant(na.core.clock.now()),
    nonce: `nonce-${counter}`,
    // One address per request, so that no test reaches the limit of another.
    from: `127.1.${(counter >> 7) & 0x7f}.${(counter & 0x7f) + 1}`,
    edits: [],
    ...changes,
  }
}

async function dispatch(na: TestAuthority, draft: Draft): Promise<Sent> {
  const signer = na.signers[draft.as] ?? (await testSigner(draft.as))
  const { path, query } = readTarget(draft.target)
  const isGet = draft.method !== 'POST'
  const { method, timestamp, nonce } = draft
  const signed = await signOperatorRequest(
    {
      method,
      path,
      query: query.toObject(),
      audience: na.genesis.network_authority.public_key,
      body: isGet ? {} : draft.body,
      timestamp,
      nonce,
    },
    signer,
  )
  const requestId = `req-${(counter += 1)}`
  const headers: Record<string, string | string[]> = { ...signed, 'X-Request-ID': requestId }
  for (const edit of draft.edits) edit(headers)
  const payload = draft.rawBody === undefined ? (isGet ? {} : { body: draft.body }) : { rawBody: draft.rawBody }
  const answer = await na.request(draft.method, draft.target, { ...payload, headers, from: draft.from })
  return { answer, requestId, draft }
}

const send = (na: TestAuthority, changes: Partial<Draft> = {}): Promise<Sent> => dispatch(na, draftFor(na, changes))
const history = (na: TestAuthority, changes: Partial<Draft> = {}): Promise<Sent> =>
  send(na, { method: 'GET', target: '/admin/policy/history', as: 'standard', ...changes })

/** Audit events of a request, found by its id, because a stopped clock gives no order. */
async function eventsOf(na: TestAuthority, { requestId }: Sent): Promise<readonly JsonObject[]> {
  const events = await na.auditEvents()
  return events.filter((event) => (event['details'] as JsonObject)['request_id'] === requestId)
}

async function expectFailed(na: TestAuthority, sent: Sent, reason: string, key_id?: string): Promise<JsonObject> {
  const error = refused(sent.answer, 401, 'admin_auth_failed')
  expect(error['details']).toEqual({})
  const events = await eventsOf(na, sent)
  expect(events.map((event) => event['event_type'])).toEqual(['admin_auth_failed'])
  const details = events[0]?.['details'] as JsonObject
  expect(details).toMatchObject({ reason, remote_addr: sent.draft.from, request_id: sent.requestId })
  expect(details['scope']).toEqual(expect.any(String))
  if (key_id !== undefined) expect(details['key_id']).toBe(key_id)
  // The nonce only for a replay; never a body or a signature.
  expect(Object.keys(details).sort()).toEqual(
    ['key_id', 'reason', 'remote_addr', 'request_id', 'scope', ...(reason === 'nonce_replay' ? ['nonce'] : [])].sort(),
  )
  return error
}

const flip = (text: string): string => (text.startsWith('A') ? 'B' : 'A') + text.slice(1)
const edit =
  (name: string, change: (value: string) => string | string[]) => (headers: Record<string, string | string[]>) => {
    headers[name] = change(String(headers[name]))
  }
const drop = (name: string) => (headers: Record<string, string | string[]>) => {
  delete headers[name]
}

/** Already spent by a valid request of the same key. */
async function spentNonce(na: TestAuthority, as: string): Promise<string> {
  const sent = await history(na, { as })
  accepted(sent.answer)
  return sent.draft.nonce
}

async function revokeKey(na: TestAuthority, name: string): Promise<void> {
  accepted(await na.as('privileged')('POST', `/admin/operator-keys/op-${name}/revoke`, { reason: 'lost' }))
}

describe('operator authentication', () => {
  const clock = new ManualClock()
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority({
      clock,
      settings: { NA_CLOCK_CHECK: 'off' },
      operators: { privileged: 'privileged', standard: 'standard', gone: 'privileged', 'gone-standard': 'standard' },
    })
    await revokeKey(na, 'gone')
    await revokeKey(na, 'gone-standard')
  })
  afterAll(() => na.stop())
  const at = (offset: Instant): string => writeInstant(clock.now() + offset)

  describe('200 and 201', () => {
    it('accepts a valid request of each tier, and writes no failure', async () => {
      const [publish, list] = [await send(na), await history(na)]
      accepted(publish.answer, 201)
      accepted(list.answer, 200)
      expect((await eventsOf(na, publish)).map((event) => event['event_type'])).toEqual(['policy_published'])
      expect(await eventsOf(na, list)).toEqual([])
    })

    it('lets a privileged key do what a standard key may', async () => {
      accepted((await history(na, { as: 'privileged' })).answer)
    })

    it('accepts timestamps up to exactly 300 s off, in every form of the grammar', async () => {
      for (const timestamp of [at(-seconds(300)), at(seconds(300))]) accepted((await history(na, { timestamp })).answer)
      const base = writeInstant(clock.now()).slice(0, 19)
      const forms = [base, `${base}Z`, `${base}.5`, `${base}.123456789Z`, `${base}+00:00`, `${base}-00:00`]
      for (const timestamp of forms) accepted((await history(na, { timestamp })).answer)
    })

    it('accepts nonces of 1 and of 128 printable characters', async () => {
      for (const nonce of ['~', `!${'n'.repeat(127)}`]) accepted((await history(na, { nonce })).answer)
    })

    it('verifies the canonical form of the body, not its bytes', async () => {
      const draft = draftFor(na, { body: { allowed_ports: [1], policy_id: 'p-spaced' } })
      accepted(
        (await dispatch(na, { ...draft, rawBody: '{ "policy_id" : "p-spaced",\n"allowed_ports":[ 1 ] }' })).answer,
        201,
      )
    })

    it('signs HEAD as HEAD', async () => {
      expect((await history(na, { method: 'HEAD' })).answer.status).toBe(200)
      const signedAsGet = { signedMethod: 'GET' }
      expect((await na.as('standard')('HEAD', '/admin/policy/history', undefined, signedAsGet)).status).toBe(401)
    })

    it('scopes nonces to the key', async () => {
      const nonce = 'one-nonce-two-keys'
      accepted((await history(na, { nonce, as: 'standard' })).answer)
      accepted((await history(na, { nonce, as: 'privileged' })).answer)
    })
  })

  describe('400', () => {
    it('reads the body before it checks headers, and audits nothing', async () => {
      for (const [rawBody, code] of [
        ['{', 'invalid_json'],
        ['[]', 'invalid_json_object'],
        ['{"a":1,"a":1}', 'invalid_json'],
      ] as const) {
        const sent = await send(na, { rawBody, edits: NAMES.map(drop) })
        refused(sent.answer, 400, code)
        expect(await eventsOf(na, sent)).toEqual([])
      }
    })

    it('checks members only after authentication', async () => {
      await expectFailed(
        na,
        await send(na, { body: { foo: 1 }, edits: [edit('X-Admin-Signature', flip)] }),
        'invalid_signature',
      )
      refused((await send(na, { body: { foo: 1 } })).answer, 400, 'unexpected_field')
    })
  })

  describe('401', () => {
    it('without any header', async () => {
      await expectFailed(na, await history(na, { edits: NAMES.map(drop) }), 'missing_headers', 'missing')
    })

    it.each(NAMES)('%s missing or empty', async (name) => {
      const key_id = name === 'X-Admin-Key-Id' ? 'missing' : 'op-standard'
      await expectFailed(na, await history(na, { edits: [drop(name)] }), 'missing_headers', key_id)
      await expectFailed(na, await history(na, { edits: [edit(name, () => '')] }), 'missing_headers', key_id)
    })

    it.each(NAMES)('%s of 257 characters', async (name) => {
      const sent = await history(na, { edits: [edit(name, () => 'a'.repeat(257))] })
      // Truncated to 256 characters in the event.
      const key_id = name === 'X-Admin-Key-Id' ? 'a'.repeat(256) : 'op-standard'
      await expectFailed(na, sent, 'oversized_headers', key_id)
    })

    it.each(NAMES)('%s sent twice', async (name) => {
      await expectFailed(na, await history(na, { edits: [edit(name, (value) => [value, value])] }), 'oversized_headers')
    })

    it.each([
      ['a blank in the key id', 'X-Admin-Key-Id', 'op standard'],
      ['a key id outside its alphabet', 'X-Admin-Key-Id', 'op-<standard>'],
      ['a key id of 129 characters', 'X-Admin-Key-Id', 'k'.repeat(129)],
      ['a blank in the nonce', 'X-Admin-Nonce', 'a b'],
      ['a nonce of 129 characters', 'X-Admin-Nonce', 'n'.repeat(129)],
      ['a nonce beyond ASCII', 'X-Admin-Nonce', 'ë'],
    ])('%s counts as missing', async (_what, name, value) => {
      await expectFailed(na, await history(na, { edits: [edit(name, () => value)] }), 'missing_headers')
    })

    it('for an unknown and for a revoked key, with the same text', async () => {
      const unknown = await expectFailed(na, await history(na, { as: 'op-stranger' }), 'unknown_key', 'op-stranger')
      const revoked = await expectFailed(na, await history(na, { as: 'gone' }), 'revoked_key', 'op-gone')
      expect({ ...revoked, request_id: '' }).toEqual({ ...unknown, request_id: '' })
      expect([unknown['message'], unknown['details']]).toEqual([UNKNOWN, {}])
    })

    it.each([
      'now',
      '2030-13-01T00:00:00Z',
      '2026-02-30T00:00:00Z',
      '2026-01-02',
      '1767323045',
      '2026-01-02T03:04:05.1234567890Z',
      '2026-01-02T24:00:00Z',
      '2026-01-02t03:04:05z',
    ])('for the timestamp %s', async (timestamp) => {
      await expectFailed(na, await history(na, { timestamp }), 'invalid_timestamp')
    })

    it('for a timestamp one microsecond beyond 300 s, either way', async () => {
      await expectFailed(na, await history(na, { timestamp: at(-seconds(300) - 1n) }), 'stale_timestamp')
      await expectFailed(na, await history(na, { timestamp: at(seconds(300) + 1n) }), 'stale_timestamp')
    })

    it.each([
      ['another signature', (value: string) => flip(value)],
      ['no padding', (value: string) => value.replace(/=+$/, '')],
      ['the url alphabet', () => `${'-'.repeat(86)}==`],
      ['too few bytes', () => 'AAAA'],
      ['not base64', () => 'signature'],
      ['all zero', () => Buffer.alloc(64).toString('base64')],
    ])('for %s', async (_what, change) => {
      await expectFailed(na, await history(na, { edits: [edit('X-Admin-Signature', change)] }), 'invalid_signature')
    })

    it('for a signature of another configured key', async () => {
      const sent = await history(na, { as: 'privileged', edits: [edit('X-Admin-Key-Id', () => 'op-standard')] })
      await expectFailed(na, sent, 'invalid_signature', 'op-standard')
    })

    it.each([
      ['method', { signedMethod: 'POST' }],
      ['path', { signedPath: '/admin/policy' }],
      ['body', { signedBody: { a: 1 } }],
      ['audience', { audience: 'xkDJSaRh6CbP8CHxk12w600CYuv9TFCLIS3hemfVvJE=' }],
    ])('when the signature covers another %s', async (_what, options) => {
      refused(await na.as('standard')('GET', '/admin/policy/history', undefined, options), 401, 'admin_auth_failed')
    })

    it('when the query is not the signed one', async () => {
      for (const target of [
        '/admin/policy/history?limit=1',
        '/admin/policy/history?limit=2&limit=1',
        '/admin/policy/history?limit=2&x',
      ]) {
        const draft = draftFor(na, { method: 'GET', target: '/admin/policy/history?limit=2', as: 'standard' })
        const { path, query } = readTarget(draft.target)
        const signer = na.signers['standard'] ?? (await testSigner('op-standard'))
        const audience = na.genesis.network_authority.public_key
        const { timestamp, nonce } = draft
        const headers = await signOperatorRequest(
          { method: 'GET', path, query: query.toObject(), audience, body: {}, timestamp, nonce },
          signer,
        )
        refused(await na.request('GET', target, { headers }), 401, 'admin_auth_failed')
        accepted(await na.request('GET', draft.target, { headers }))
      }
    })

    it('for a body whose numbers have another form than the signed ones', async () => {
      const sent = await send(na, { body: { allowed_ports: [80] }, rawBody: '{"allowed_ports":[80.0]}' })
      await expectFailed(na, sent, 'invalid_signature')
    })

    it('for a replayed nonce, with the same and with another timestamp; the event names it', async () => {
      const first = await history(na)
      accepted(first.answer)
      const replays = [
        await dispatch(na, first.draft),
        await dispatch(na, { ...first.draft, timestamp: at(seconds(1)) }),
      ]
      for (const replay of replays) {
        await expectFailed(na, replay, 'nonce_replay', 'op-standard')
        const [event] = await eventsOf(na, replay)
        expect(event?.['details']).toMatchObject({ nonce: first.draft.nonce })
      }
    })

    it('for all but one of 20 copies sent together', async () => {
      const draft = draftFor(na)
      const sent = await Promise.all(Array.from({ length: 20 }, () => dispatch(na, draft)))
      expect(sent.filter(({ answer }) => answer.status === 201)).toHaveLength(1)
      for (const { answer } of sent) if (answer.status !== 201) refused(answer, 401, 'admin_auth_failed')
    })
  })

  describe('403', () => {
    it('for a key of the standard tier; the event names both tiers', async () => {
      const sent = await send(na, { as: 'standard' })
      refused(sent.answer, 403, 'insufficient_operator_tier')
      const events = await eventsOf(na, sent)
      expect(events.map((event) => event['event_type'])).toEqual(['admin_authz_denied'])
      expect(events[0]?.['details']).toEqual({
        key_id: 'op-standard',
        reason: 'insufficient_operator_tier',
        holder_tier: 'standard',
        required_tier: 'privileged',
        scope: expect.any(String),
        remote_addr: sent.draft.from,
        request_id: sent.requestId,
      })
    })
  })

  describe('nonces', () => {
    it('are spent by a request refused for its tier', async () => {
      const denied = await send(na, { as: 'standard' })
      refused(denied.answer, 403, 'insufficient_operator_tier')
      await expectFailed(na, await history(na, { nonce: denied.draft.nonce }), 'nonce_replay')
    })

    it('are spent by a request that its handler refuses', async () => {
      const sent = await send(na, { body: { foo: 1 } })
      refused(sent.answer, 400, 'unexpected_field')
      await expectFailed(na, await send(na, { nonce: sent.draft.nonce }), 'nonce_replay')
    })

    it.each<[string, Partial<Draft>]>([
      ['a bad signature', { edits: [edit('X-Admin-Signature', flip)] }],
      ['an unreadable timestamp', { timestamp: 'now' }],
      ['a missing header', { edits: [drop('X-Admin-Signature')] }],
      ['a repeated header', { edits: [edit('X-Admin-Key-Id', (value) => [value, value])] }],
      ['a malformed body', { method: 'POST', target: '/admin/policy', rawBody: '{' }],
    ])('are not spent by a request with %s', async (_what, changes) => {
      const sent = await history(na, changes)
      expect([400, 401]).toContain(sent.answer.status)
      accepted((await history(na, { nonce: sent.draft.nonce })).answer)
    })

    it('are not spent by a revoked key', async () => {
      const before = await countNonces(na)
      const sent = await history(na, { as: 'gone' })
      await expectFailed(na, sent, 'revoked_key')
      expect(await countNonces(na)).toBe(before)
      accepted((await history(na)).answer)
      expect(await countNonces(na)).toBe(before + 1)
    })

    it('cannot be probed without a signature', async () => {
      const nonce = await spentNonce(na, 'standard')
      const used = await expectFailed(
        na,
        await history(na, { nonce, edits: [edit('X-Admin-Signature', flip)] }),
        'invalid_signature',
      )
      const fresh = await expectFailed(
        na,
        await history(na, { edits: [edit('X-Admin-Signature', flip)] }),
        'invalid_signature',
      )
      expect({ ...used, request_id: '' }).toEqual({ ...fresh, request_id: '' })
    })

    it('are stored until 360 s after the signed timestamp, over every purge', async () => {
      const { purgeNonces } = await import('./nonces.ts')
      const own = new ManualClock()
      const other = await startTestAuthority({ clock: own, settings: { NA_CLOCK_CHECK: 'off' } })
      const timestamp = writeInstant(own.now() + seconds(300))
      const first = await history(other, { timestamp })
      accepted(first.answer)
      // The signed time is 300 s ahead: acceptable for 600 s from now, so the row must be stored longer.
      own.advance(600)
      await purgeNonces(other.core.database, own, AbortSignal.timeout(10_000))
      await expectFailed(other, await dispatch(other, first.draft), 'nonce_replay')
      own.advance(661)
      await purgeNonces(other.core.database, own, AbortSignal.timeout(10_000))
      expect(await countNonces(other)).toBe(0)
      await other.stop()
    })

    it('are stored by an authority whose clock was ahead temporarily', async () => {
      const own = new ManualClock()
      const other = await startTestAuthority({ clock: own, settings: { NA_CLOCK_CHECK: 'off' } })
      // The clock has been stable for long, so the jump that follows is the only one.
      own.advance(3600)
      expect(other.core.purgeClock.nonces.now()).toBe(own.now())
      const first = await history(other, {})
      accepted(first.answer)
      const right = own.now()
      own.set(right + seconds(86_400))
      const purge = coreJobs(other.core, other.settings).find(({ name }) => name === 'purge-nonces')
      await purge?.run(AbortSignal.timeout(10_000))
      own.set(right)
      await expectFailed(other, await dispatch(other, first.draft), 'nonce_replay')
      await other.stop()
    })

    it.runIf(currentBackend() === 'postgres')('are stored while the clock offset is too large', async () => {
      const own = new ManualClock(systemClock.now() + seconds(864_000))
      const other = await startTestAuthority({ clock: own, settings: { NA_CLOCK_CHECK: 'on' } })
      accepted((await history(other, {})).answer)
      own.advance(86_400)
      await other.core.clockCheck.check()
      const purge = coreJobs(other.core, other.settings).find(({ name }) => name === 'purge-nonces')
      await purge?.run(AbortSignal.timeout(10_000))
      expect(await countNonces(other)).toBe(1)
      await other.stop()
    })
  })
})

async function countNonces(na: TestAuthority): Promise<number> {
  const row = await na.core.database.read
    .selectFrom('nonces')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

/**
 * protocol/core 11.3: when two checks fail, the earlier one decides. Each row is one check. The tests make requests
 * that fail at two neighbouring rows.
 */
describe('the order of checks', () => {
  const LIMIT = 4
  const clock = new ManualClock()
  let na: TestAuthority
  let scarce: TestAuthority
  beforeAll(async () => {
    const operators = { privileged: 'privileged', standard: 'standard', gone: 'standard' } as const
    const settings = { NA_CLOCK_CHECK: 'off', NA_RATE_LIMIT_ADMIN_AUTH_FAILURES_PER_MINUTE: String(LIMIT) }
    na = await startTestAuthority({ clock, operators, settings })
    scarce = await startTestAuthority({
      clock,
      operators,
      settings: { ...settings, NA_RATE_LIMIT_ADMIN_PER_MINUTE: String(LIMIT) },
    })
    await revokeKey(na, 'gone')
  })
  afterAll(async () => {
    await na.stop()
    await scarce.stop()
  })

  /** Uses up the admin limit of an address with failing requests, and so the failure limit, too. */
  async function exhaustAdmin(from: string): Promise<void> {
    for (let i = 0; i < LIMIT; i += 1)
      refused((await history(scarce, { from, edits: NAMES.map(drop) })).answer, 401, 'admin_auth_failed')
  }

  async function exhaustAddress(from: string): Promise<void> {
    for (let i = 0; i < LIMIT; i += 1)
      refused((await history(na, { from, edits: NAMES.map(drop) })).answer, 401, 'admin_auth_failed')
  }

  /** The counter of one key from one address cannot be filled over HTTP before that of the address. */
  async function exhaustKey(from: string, key_id: string): Promise<void> {
    for (let i = 0; i < LIMIT; i += 1) await na.core.limits.shared.hit(`admin_auth_failed ${from} ${key_id}`, LIMIT)
  }

  const badBody = { rawBody: '{' }
  const oversized = edit('X-Admin-Timestamp', () => 'x'.repeat(257))
  const badSignature = edit('X-Admin-Signature', flip)
  const stale = (): string => writeInstant(clock.now() - seconds(301))

  it('1 before 2: the admin limit before the failure limit, and nothing is audited', async () => {
    await exhaustAdmin('127.2.0.1')
    const sent = await send(scarce, { from: '127.2.0.1' })
    refused(sent.answer, 429, 'rate_limit_exceeded')
    expect(sent.answer.headers['retry-after']).toBe('60')
    expect(await eventsOf(scarce, sent)).toEqual([])
    expect(await scarce.auditEvents('admin_auth_throttled')).toEqual([])
  })

  it('1 before 3: the admin limit before the body', async () => {
    await exhaustAdmin('127.2.0.2')
    refused((await send(scarce, { from: '127.2.0.2', ...badBody })).answer, 429, 'rate_limit_exceeded')
  })

  it('2 before 3: the failure limit of the address before the body', async () => {
    await exhaustAddress('127.2.0.3')
    const sent = await send(na, { from: '127.2.0.3', ...badBody })
    refused(sent.answer, 429, 'admin_auth_throttled')
    expect(sent.answer.headers['retry-after']).toBe('60')
  })

  it('2 before 4: a throttled address before its headers', async () => {
    await exhaustAddress('127.2.0.4')
    refused((await send(na, { from: '127.2.0.4', edits: [oversized] })).answer, 429, 'admin_auth_throttled')
  })

  it('2 applies to valid requests of the address, too', async () => {
    await exhaustAddress('127.2.0.5')
    refused((await history(na, { from: '127.2.0.5' })).answer, 429, 'admin_auth_throttled')
    accepted((await history(na, { from: '127.2.0.6' })).answer)
  })

  it('3 before 4: the body before oversized headers', async () => {
    const sent = await send(na, { ...badBody, edits: [oversized] })
    refused(sent.answer, 400, 'invalid_json')
    expect(await eventsOf(na, sent)).toEqual([])
  })

  it('4 before 5: oversized before missing', async () => {
    await expectFailed(na, await send(na, { edits: [oversized, drop('X-Admin-Nonce')] }), 'oversized_headers')
  })

  it('4 before 5: repeated before missing', async () => {
    const repeated = edit('X-Admin-Timestamp', (value) => [value, value])
    await expectFailed(na, await send(na, { edits: [repeated, drop('X-Admin-Signature')] }), 'oversized_headers')
  })

  it('5 before 6: missing headers before a throttled key', async () => {
    await exhaustKey('127.2.0.7', 'op-privileged')
    await expectFailed(na, await send(na, { from: '127.2.0.7', edits: [drop('X-Admin-Nonce')] }), 'missing_headers')
  })

  it('6 before 7: a throttled key before its revocation', async () => {
    await exhaustKey('127.2.0.8', 'op-gone')
    const sent = await history(na, { from: '127.2.0.8', as: 'gone' })
    refused(sent.answer, 429, 'admin_auth_throttled')
    const [event] = await eventsOf(na, sent)
    expect(event).toMatchObject({
      event_type: 'admin_auth_throttled',
      details: { key_id: 'op-gone', reason: expect.any(String) },
    })
    await expectFailed(na, await history(na, { from: '127.2.0.9', as: 'gone' }), 'revoked_key')
  })

  it('6 is not checked for keys that are not configured', async () => {
    await exhaustKey('127.2.0.10', 'op-stranger')
    await expectFailed(na, await history(na, { from: '127.2.0.10', as: 'op-stranger' }), 'unknown_key')
  })

  it('7 before 8: an unknown or revoked key before its timestamp', async () => {
    await expectFailed(na, await history(na, { as: 'op-stranger', timestamp: 'never' }), 'unknown_key')
    await expectFailed(na, await history(na, { as: 'gone', timestamp: 'never' }), 'revoked_key')
  })

  it('7 before 10: a revoked key before its signature, with the text of an unknown one', async () => {
    for (const as of ['gone', 'op-stranger']) {
      const sent = await history(na, { as, timestamp: stale(), edits: [badSignature] })
      const error = await expectFailed(na, sent, as === 'gone' ? 'revoked_key' : 'unknown_key')
      expect(error['message']).toBe(UNKNOWN)
    }
  })

  it('8 before 9 and 10: an unreadable timestamp before the signature', async () => {
    await expectFailed(na, await history(na, { timestamp: 'never', edits: [badSignature] }), 'invalid_timestamp')
  })

  it('9 before 10: a stale timestamp before the signature', async () => {
    await expectFailed(na, await history(na, { timestamp: stale(), edits: [badSignature] }), 'stale_timestamp')
  })

  it('9 before 11: a stale timestamp before a replay', async () => {
    const nonce = await spentNonce(na, 'standard')
    await expectFailed(na, await history(na, { nonce, timestamp: stale() }), 'stale_timestamp')
  })

  it('10 before 11: the signature before the nonce', async () => {
    const nonce = await spentNonce(na, 'standard')
    await expectFailed(na, await history(na, { nonce, edits: [badSignature] }), 'invalid_signature')
  })

  it('11 before 12: the nonce before the tier', async () => {
    const nonce = await spentNonce(na, 'standard')
    await expectFailed(na, await send(na, { as: 'standard', nonce }), 'nonce_replay')
  })

  it('12 before the route: the tier before the members of the body', async () => {
    refused((await send(na, { as: 'standard', body: { foo: 1 } })).answer, 403, 'insufficient_operator_tier')
  })
})

describe('failed authentications', () => {
  const LIMIT = 3
  let clock: ManualClock
  let na: TestAuthority
  beforeAll(async () => {
    clock = new ManualClock()
    na = await startTestAuthority({
      clock,
      settings: { NA_CLOCK_CHECK: 'off', NA_RATE_LIMIT_ADMIN_AUTH_FAILURES_PER_MINUTE: String(LIMIT) },
    })
  })
  afterAll(() => na.stop())
  const fail = (from: string): Promise<Sent> => history(na, { from, edits: [edit('X-Admin-Signature', flip)] })

  it('are throttled per address after the limit, with one event per window, and accepted again after it', async () => {
    const from = '127.3.0.1'
    for (let i = 0; i < LIMIT; i += 1) refused((await fail(from)).answer, 401, 'admin_auth_failed')
    for (let i = 0; i < 5; i += 1) refused((await fail(from)).answer, 429, 'admin_auth_throttled')
    const events = await na.auditEvents('admin_auth_throttled')
    expect(events).toHaveLength(1)
    expect(events[0]?.['details']).toMatchObject({ reason: expect.any(String), remote_addr: from })
    // Two windows, because a shared limiter counts in fixed ones.
    clock.advance(120)
    refused((await fail(from)).answer, 401, 'admin_auth_failed')
    for (let i = 0; i < LIMIT + 2; i += 1) await fail(from)
    expect(await na.auditEvents('admin_auth_throttled')).toHaveLength(2)
  })

  it('do not block other addresses or other callers of the key', async () => {
    for (let i = 0; i < LIMIT + 1; i += 1) await fail('127.3.0.2')
    refused((await history(na, { from: '127.3.0.2' })).answer, 429, 'admin_auth_throttled')
    accepted((await history(na, { from: '127.3.0.3' })).answer)
  })

  it('count every reason, and no successes or tier refusals', async () => {
    const from = '127.3.0.4'
    for (let i = 0; i < LIMIT + 2; i += 1) accepted((await history(na, { from })).answer)
    for (let i = 0; i < LIMIT + 2; i += 1)
      refused((await send(na, { from, as: 'standard' })).answer, 403, 'insufficient_operator_tier')
    refused((await history(na, { from, as: 'op-stranger' })).answer, 401, 'admin_auth_failed')
    refused((await history(na, { from, edits: NAMES.map(drop) })).answer, 401, 'admin_auth_failed')
    refused((await history(na, { from, timestamp: 'never' })).answer, 401, 'admin_auth_failed')
    refused((await history(na, { from })).answer, 429, 'admin_auth_throttled')
  })
})

describe('when the audit table cannot be written', () => {
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority({ operators: { privileged: 'privileged', standard: 'standard', spare: 'standard' } })
    accepted((await send(na, { body: { policy_id: 'before' } })).answer, 201)
    accepted((await send(na, { body: { policy_id: 'kept' } })).answer, 201)
    await sql`alter table audit_events rename to audit_events_away`.execute(rowsOf(na.core.database))
  })
  afterAll(async () => {
    await sql`alter table audit_events_away rename to audit_events`.execute(rowsOf(na.core.database))
    await na.stop()
  })

  async function failures(): Promise<number> {
    const { text } = await na.request('GET', '/metrics')
    return Number(/^chancery_audit_write_failures_total (\d+)$/m.exec(text)?.[1])
  }

  it('a failed authentication is still 401, and counted', async () => {
    const before = await failures()
    refused((await history(na, { edits: NAMES.map(drop) })).answer, 401, 'admin_auth_failed')
    refused((await history(na, { edits: [edit('X-Admin-Signature', flip)] })).answer, 401, 'admin_auth_failed')
    expect(await failures()).toBe(before + 2)
  })

  it('a tier refusal is still 403, and counted', async () => {
    const before = await failures()
    refused((await send(na, { as: 'standard' })).answer, 403, 'insufficient_operator_tier')
    expect(await failures()).toBe(before + 1)
  })

  it('a state change is 503 and has not happened', async () => {
    refused((await send(na, { body: { policy_id: 'never' } })).answer, 503, 'service_unavailable')
    refused(
      (await send(na, { target: '/admin/policy/rollback', body: { policy_id: 'before' } })).answer,
      503,
      'service_unavailable',
    )
    refused(
      (await send(na, { target: '/admin/operator-keys/op-spare/revoke', body: {} })).answer,
      503,
      'service_unavailable',
    )
    const { versions } = accepted((await history(na)).answer) as { versions: { policy_id: string; active: boolean }[] }
    expect(versions.map(({ policy_id, active }) => [policy_id, active])).toEqual([
      ['kept', true],
      ['before', false],
    ])
    accepted((await history(na, { as: 'spare' })).answer)
  })
})
