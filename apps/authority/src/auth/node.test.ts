import { JsonFloat, seconds, toBase64, writeInstant, writeSortable } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  enroll,
  eventsOf,
  nodeCaller,
  refused,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { NodeCaller, ProofOptions, TestAuthority } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toClaim } from './nonces.ts'
import { rowsOf } from '../testing/rows.suite.ts'

const clock = new ManualClock()
let na: TestAuthority
let node: NodeCaller
let cert_id: string
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  node = nodeCaller(na.url, await testSigner('node', 'auth-node'), () => clock.now())
  ;({ cert_id } = await enroll(na, node))
})
afterAll(() => na.stop())

type Edit = (body: Record<string, JsonValue>) => void
const set =
  (name: string, value: JsonValue): Edit =>
  (body) => {
    body[name] = value
  }
const drop =
  (name: string): Edit =>
  (body) => {
    delete body[name]
  }
const at = (offset: bigint): string => writeInstant(clock.now() + offset)

/** Sends a heartbeat and expects the one response of all failures, and one event with the reason. */
async function expectFailure(members: JsonObject, options: ProofOptions, reason: string): Promise<JsonObject> {
  const answer = await node.heartbeat(cert_id, members, options)
  const error = refused(answer, 401, 'node_auth_failed')
  expect(error['details']).toEqual({})
  const events = await eventsOf(na, answer)
  expect(events.map((event) => event['event_type'])).toEqual(['node_auth_failed'])
  expect(detailsOf(events[0])).toMatchObject({ scope: 'heartbeat', reason, remote_addr: '127.0.0.1' })
  return detailsOf(events[0])
}

describe('the proof of a node', () => {
  it.each<[string, JsonObject, Edit]>([
    ...['signature', 'timestamp', 'nonce'].flatMap((name): [string, JsonObject, Edit][] => [
      [`no ${name}`, {}, drop(name)],
      [`an empty ${name}`, {}, set(name, '')],
      [`a ${name} that is null`, {}, set(name, null)],
      [`a ${name} that is a number`, {}, set(name, 7)],
      [`a ${name} that is a list`, {}, set(name, ['x'])],
    ]),
    ['a nonce of 129 characters', { nonce: 'a'.repeat(129) }, () => undefined],
    ['a nonce with a space', { nonce: 'a b' }, () => undefined],
    ['a nonce beyond ASCII', { nonce: 'é' }, () => undefined],
    ['a nonce with a control character', { nonce: 'a\u0000' }, () => undefined],
    ['a timestamp of 41 characters', { timestamp: `2026-01-02T03:04:05.${'0'.repeat(20)}Z` }, () => undefined],
    ['a signature of 257 characters', {}, set('signature', 'A'.repeat(257))],
  ])('with %s fails as missing_fields', async (_, members, edit) => {
    await expectFailure(members, { edit }, 'missing_fields')
  })

  it.each([
    '2026-01-02',
    '2026-01-02 03:04:05Z',
    '2026-02-30T03:04:05Z',
    '2026-01-02T24:00:00Z',
    '2026-01-02T03:04:60Z',
    '1767323045',
    'now',
    '2026-01-02T03:04:05.Z',
    '2026-01-02T03:04:05.1234567890Z',
  ])('with the timestamp %j fails as invalid_timestamp', async (timestamp) => {
    await expectFailure({ timestamp }, {}, 'invalid_timestamp')
  })

  it.each([
    ['too old', -seconds(300) - 1n],
    ['too young', seconds(300) + 1n],
    ['a day old', -seconds(86_400)],
  ])('that is %s fails as stale_timestamp', async (_, offset) => {
    await expectFailure({ timestamp: at(offset) }, {}, 'stale_timestamp')
  })

  it.each<[string, () => string]>([
    ['300 s old', () => at(-seconds(300))],
    ['300 s ahead', () => at(seconds(300))],
    ['without a zone, which is UTC', () => at(0n).slice(0, -1)],
    ['with an offset', () => `${writeInstant(clock.now() + seconds(7200)).slice(0, -1)}+02:00`],
    ['with nine digits', () => `${at(0n).slice(0, 19)}.000000999Z`],
  ])('that is %s is accepted', async (_, timestamp) => {
    accepted(await node.heartbeat(cert_id, { timestamp: timestamp() }))
  })

  it.each<[string, JsonObject, ProofOptions]>([
    ['a signature that is not base64', {}, { edit: set('signature', '!') }],
    ['a signature of zeros', {}, { edit: set('signature', toBase64(new Uint8Array(64))) }],
    ['a member added after signing', {}, { edit: set('extra', 1) }],
    ['a member removed after signing', { extra: 1 }, { edit: drop('extra') }],
    ['a number of another form than signed', { extra: 1 }, { edit: set('extra', new JsonFloat(1)) }],
    ['another audience', { audience: 'x' }, {}],
    ['an audience that is not a string', { audience: 7 }, {}],
    ['an audience that is null', { audience: null }, {}],
    ['another action', { action: 'renew' }, {}],
    ['an action that is not a string', { action: 7 }, {}],
    ['an invalid key', { node_public_key: 'none' }, {}],
  ])('with %s fails as invalid_signature', async (_, members, options) => {
    await expectFailure(members, options, 'invalid_signature')
  })

  it('with the signature of another key fails as invalid_signature', async () => {
    await expectFailure({}, { signer: await testSigner('node', 'stranger') }, 'invalid_signature')
  })

  it('is verified in the order of the table', async () => {
    const signer = await testSigner('node', 'stranger')
    await expectFailure({ timestamp: 'now' }, { edit: drop('nonce'), signer }, 'missing_fields')
    await expectFailure({ timestamp: 'now' }, { signer }, 'invalid_timestamp')
    await expectFailure({ timestamp: '2020-01-01T00:00:00Z' }, { signer }, 'stale_timestamp')
  })

  it('sent twice fails as nonce_replay, and only that event names the nonce', async () => {
    accepted(await node.heartbeat(cert_id, { nonce: 'told' }))
    const replay = await expectFailure({ nonce: 'told' }, {}, 'nonce_replay')
    expect(Object.keys(replay).sort()).toEqual(['nonce', 'reason', 'remote_addr', 'request_id', 'scope'])
    const unknownSigner = { signer: await testSigner('node', 'stranger') }
    // A replay that does not verify never learns that the nonce was spent.
    const forged = await expectFailure({ nonce: 'told' }, unknownSigner, 'invalid_signature')
    expect(Object.keys(forged).sort()).toEqual(['reason', 'remote_addr', 'request_id', 'scope'])
  })

  it('sent twice has its event also when bad proofs of its address have used up their room', async () => {
    accepted(await node.heartbeat(cert_id, { nonce: 'seen' }))
    const details = { reason: 'invalid_signature', remote_addr: '127.0.0.1' }
    for (let n = 0; n < 61; n += 1) await na.core.audit.recordRefusal({ type: 'node_auth_failed', details })
    await expectFailure({ nonce: 'seen' }, {}, 'nonce_replay')
    clock.advance(61)
  })

  it('that fails spends no nonce', async () => {
    await expectFailure({ nonce: 'kept' }, { signer: await testSigner('node', 'stranger') }, 'invalid_signature')
    accepted(await node.heartbeat(cert_id, { nonce: 'kept' }))
  })

  it('is stored for the signed time and 360 s more', async () => {
    const signedAt = clock.now() + seconds(200)
    const body = await node.prove({ cert_id, timestamp: writeInstant(signedAt), nonce: 'long-lived' })
    accepted(await na.request('POST', '/heartbeat', { body }))
    clock.advance(499)
    refused(await na.request('POST', '/heartbeat', { body }), 401, 'node_auth_failed')
    const { claim } = toClaim(`node:${node.key}`, 'long-lived', signedAt)
    const rows = await na.core.database.read.selectFrom('nonces').selectAll().where('claim', '=', claim).execute()
    expect(rows.map((row) => row.expires_at)).toEqual([writeSortable(signedAt + seconds(360))])
  })

  it('is refused even when the event cannot be stored, and that is counted', async () => {
    const db = rowsOf(na.core.database)
    await sql`alter table audit_events rename to audit_events_away`.execute(db)
    try {
      const signer = await testSigner('node', 'stranger')
      refused(await node.heartbeat(cert_id, {}, { signer }), 401, 'node_auth_failed')
    } finally {
      await sql`alter table audit_events_away rename to audit_events`.execute(db)
    }
    const metrics = (await na.request('GET', '/metrics')).text
    expect(metrics).toMatch(/^chancery_audit_write_failures_total 1$/m)
  })
})

describe('a state change whose event cannot be stored', () => {
  it('does not happen: 503 or 500, and nothing is stored', async () => {
    const db = rowsOf(na.core.database)
    const joiner = nodeCaller(na.url, await testSigner('node', 'auth-node-unaudited'), () => clock.now())
    const token = String(accepted(await na.as('standard')('POST', '/admin/invite'), 201)['token_id'])
    await sql`alter table audit_events rename to audit_events_away`.execute(db)
    let answer
    try {
      answer = await joiner.join(token)
    } finally {
      await sql`alter table audit_events_away rename to audit_events`.execute(db)
    }
    expect(answer.status).toBeGreaterThanOrEqual(500)
    const rows = await db
      .selectFrom('issued_certs')
      .select('cert_id')
      .where('node_public_key', '=', joiner.key)
      .execute()
    expect(rows).toEqual([])
    accepted(await joiner.join(token), 201)
  })
})
