// oxlint-disable max-lines -- every status of one route, with a table of wrong feeds
import { HOUR, type JsonObject, type JsonValue, canonicalJson, readJson } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  foreignFeed,
  foreignSovereign,
  refused,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, ForeignSovereign, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listPeerFeeds } from './index.ts'

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

let counter = 0
/** A sovereign without a treaty. */
function newIssuer(): ForeignSovereign {
  counter += 1
  return foreignSovereign(`ISSUER-${counter}`)
}
async function recognise(issuer: ForeignSovereign, keys = [issuer.publicKey]): Promise<string> {
  const body = { subject_sovereign_id: issuer.sovereign_id, subject_public_keys: keys }
  return String(accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', body), 201)['treaty_id'])
}
const asJson = (record: ForeignObject): JsonObject => readJson(wireText(record)) as JsonObject
const send = (body: JsonObject, as = 'privileged'): Promise<TestResponse> =>
  na.as(as)('POST', '/admin/sovereign-revocation-feeds/import', body)
const imported = async (issuer: ForeignSovereign): Promise<string[]> => {
  const db = na.core.database.read
  const rows = await db
    .selectFrom('imported_sovereign_revocations')
    .select('attestation_id')
    .where('issuer_sovereign_id', '=', issuer.sovereign_id)
    .execute()
  return rows.map((row) => row.attestation_id).sort()
}
const feedRows = async (issuer: ForeignSovereign): Promise<number[]> => {
  const db = na.core.database.read
  const rows = await db
    .selectFrom('sovereign_revocation_feeds')
    .select('sequence')
    .where('issuer_sovereign_id', '=', issuer.sovereign_id)
    .orderBy('sequence')
    .execute()
  return rows.map((row) => Number(row.sequence))
}
const identity = (feed: JsonObject): JsonObject => ({
  feed_id: feed['feed_id'] ?? null,
  issuer_sovereign_id: feed['issuer_sovereign_id'] ?? null,
  sequence: feed['sequence'] ?? null,
})

/** Checks a refusal that names the feed, is audited as rejected if requested, and stores nothing. */
async function expectRejected(
  body: JsonObject,
  issuer: ForeignSovereign,
  status: number,
  code: string,
  more: JsonObject = {},
): Promise<void> {
  const [rows, ids] = [await feedRows(issuer), await imported(issuer)]
  const answer = await send(body)
  const feed = body['feed'] as JsonObject
  expect(refused(answer, status, code)['details']).toEqual({ ...identity(feed), ...more })
  const events = await eventsOf(na, answer)
  expect(events.map((event) => event['event_type'])).toEqual(['sovereign_revocation_feed_rejected'])
  expect(detailsOf(events[0])).toMatchObject({
    ...identity(feed),
    reason: code,
    key_id: 'op-privileged',
    remote_addr: '127.0.0.1',
    request_id: answer.headers['x-request-id'],
  })
  expect([await feedRows(issuer), await imported(issuer)]).toEqual([rows, ids])
}

describe('POST /admin/sovereign-revocation-feeds/import', () => {
  describe('200', () => {
    it('under the keys that a treaty pins', async () => {
      const issuer = newIssuer()
      await recognise(issuer)
      const feed = asJson(foreignFeed(issuer, 3, ['a-1', 'a-2'], { revocation_reasons: { 'a-1': 'grüße' } }))
      const answer = await send({ feed })
      const logged = {
        accepted: true,
        reason: 'accepted',
        ...identity(feed),
        revoked_count: 2,
        trust_basis: 'recognized_issuer_keys',
        complete: true,
      }
      expect(accepted(answer)).toEqual(logged)
      expect(await imported(issuer)).toEqual(['a-1', 'a-2'])
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['sovereign_revocation_feed_imported'])
      expect(detailsOf(events[0])).toEqual({
        ...logged,
        key_id: 'op-privileged',
        remote_addr: '127.0.0.1',
        request_id: answer.headers['x-request-id'],
      })
    })

    it.each<[string, (issuer: ForeignSovereign) => JsonValue]>([
      ['a map of ids', ({ key_id, publicKey }) => ({ [key_id]: publicKey })],
      [
        'a map with other keys',
        ({ key_id, publicKey }) => ({ other: foreignSovereign('X').publicKey, [key_id]: publicKey }),
      ],
      ['a list', ({ publicKey }) => [publicKey]],
      ['a list with other keys first', ({ publicKey }) => [foreignSovereign('X').publicKey, publicKey]],
    ])('under keys that the operator supplies, as %s', async (_what, keys) => {
      const issuer = newIssuer()
      const answer = await send({ feed: asJson(foreignFeed(issuer, 1, ['a'])), issuer_public_keys: keys(issuer) })
      expect(accepted(answer)).toMatchObject({ trust_basis: 'caller_supplied_keys' })
      expect(detailsOf((await eventsOf(na, answer))[0])).not.toHaveProperty('differs_from_pinned')
    })

    it.each<JsonValue>([null, [], {}])(
      '%j as keys means none: the pinned ones are used',
      async (issuer_public_keys) => {
        const issuer = newIssuer()
        await recognise(issuer)
        expect(accepted(await send({ feed: asJson(foreignFeed(issuer, 1, [])), issuer_public_keys }))).toMatchObject({
          trust_basis: 'recognized_issuer_keys',
        })
      },
    )

    it('under other keys than a treaty pins is audited', async () => {
      const [issuer, next] = [newIssuer(), foreignSovereign(`ISSUER-${counter}`, 'rotated')]
      await recognise(issuer)
      const pinnedToo = await send({ feed: asJson(foreignFeed(issuer, 1, [])), issuer_public_keys: [issuer.publicKey] })
      expect(detailsOf((await eventsOf(na, pinnedToo))[0])).not.toHaveProperty('differs_from_pinned')
      const answer = await send({ feed: asJson(foreignFeed(next, 2, ['a'])), issuer_public_keys: [next.publicKey] })
      expect(accepted(answer)).toMatchObject({ trust_basis: 'caller_supplied_keys' })
      expect(detailsOf((await eventsOf(na, answer))[0])).toMatchObject({ differs_from_pinned: true })
    })

    it('keeps imported revocations, whatever later feeds leave out', async () => {
      const issuer = newIssuer()
      await recognise(issuer)
      accepted(await send({ feed: asJson(foreignFeed(issuer, 1, ['a', 'b'], { revocation_reasons: { a: 'first' } })) }))
      accepted(
        await send({ feed: asJson(foreignFeed(issuer, 2, ['a', 'c'], { revocation_reasons: { a: 'second' } })) }),
      )
      accepted(await send({ feed: asJson(foreignFeed(issuer, 5, [])) }))
      expect(await imported(issuer)).toEqual(['a', 'b', 'c'])
      expect(await feedRows(issuer)).toEqual([1, 2, 5])
      const db = na.core.database.read
      const row = await db
        .selectFrom('imported_sovereign_revocations')
        .selectAll()
        .where('issuer_sovereign_id', '=', issuer.sovereign_id)
        .where('attestation_id', '=', 'a')
        .executeTakeFirst()
      expect(row).toMatchObject({ sequence: 1, reason: 'first' })
    })

    it.each(['as sent', 'over sorted ids'])('accepts ids in any order and repeated, signed %s', async (how) => {
      const issuer = newIssuer()
      await recognise(issuer)
      const sent = { revoked_attestation_ids: ['c', 'a', 'b', 'a'] }
      const signed = asJson(foreignFeed(issuer, 1, ['a', 'b', 'c'], how === 'as sent' ? sent : {}))
      expect(accepted(await send({ feed: { ...signed, ...sent } }))).toMatchObject({ revoked_count: 3 })
      expect(await imported(issuer)).toEqual(['a', 'b', 'c'])
      await expectRejected(
        { feed: { ...asJson(foreignFeed(issuer, 2, ['a', 'b', 'c'], sent)), revoked_attestation_ids: ['b', 'a'] } },
        issuer,
        400,
        'invalid_signature',
      )
    })

    it('begins at sequence 0 and counts sequences per issuer', async () => {
      const [one, other] = [newIssuer(), newIssuer()]
      for (const issuer of [one, other])
        accepted(await send({ feed: asJson(foreignFeed(issuer, 0, [])), issuer_public_keys: [issuer.publicKey] }))
      accepted(await send({ feed: asJson(foreignFeed(one, 1, [])), issuer_public_keys: [one.publicKey] }))
      expect([await feedRows(one), await feedRows(other)]).toEqual([[0, 1], [0]])
    })

    it('accepts the expected issuer, and ids that are names of members of objects', async () => {
      const issuer = newIssuer()
      const ids = ['__proto__', 'constructor', 'toString']
      const feed = readJson(
        wireText(foreignFeed(issuer, 1, ids)).replace('"revocation_reasons" : {  }', '"revocation_reasons" : {}'),
      ) as JsonObject
      accepted(
        await send({ feed, issuer_public_keys: [issuer.publicKey], expected_issuer_sovereign_id: issuer.sovereign_id }),
      )
      expect(await imported(issuer)).toEqual([...ids].sort())
    })

    it('accepts 50,000 ids with their reasons', async () => {
      const issuer = newIssuer()
      const ids = Array.from({ length: 50_000 }, (_, i) => `a${String(i).padStart(6, '0')}`)
      const reasons = Object.fromEntries(ids.map((id) => [id, 'left']))
      const text = wireText(foreignFeed(issuer, 1, ids, { revocation_reasons: reasons }))
      const feed = readJson(text, { maxDepth: 64, maxValues: 250_000, maxNames: 50_000 }) as JsonObject
      const answer = await send({ feed, issuer_public_keys: [issuer.publicKey] })
      expect(accepted(answer)).toMatchObject({ revoked_count: 50_000 })
      expect(await imported(issuer)).toHaveLength(50_000)
    })

    it('stores the feed so that its canonical form is the signed text', async () => {
      const issuer = newIssuer()
      const feed = asJson(foreignFeed(issuer, 1, ['é', '\ue000', '\u{1f600}']))
      accepted(await send({ feed, issuer_public_keys: [issuer.publicKey] }))
      const db = na.core.database.read
      const row = await db
        .selectFrom('sovereign_revocation_feeds')
        .select('feed_json')
        .where('issuer_sovereign_id', '=', issuer.sovereign_id)
        .executeTakeFirst()
      expect(canonicalJson(readJson(row?.feed_json ?? ''))).toBe(canonicalJson(feed))
    })
  })

  describe('400', () => {
    it.each<[string, (feed: JsonObject) => JsonValue | undefined]>([
      ['no feed', () => undefined],
      ['null', () => null],
      ['a list', () => []],
      ['an unknown member', (feed) => ({ ...feed, extra: 1 })],
      ['ids that are not a list', (feed) => ({ ...feed, revoked_attestation_ids: 'a' })],
      ['a reason for an id that is not listed', (feed) => ({ ...feed, revocation_reasons: { z: 'x' } })],
      ['sequence -1', (feed) => ({ ...feed, sequence: -1 })],
      ['sequence as a string', (feed) => ({ ...feed, sequence: '1' })],
      ['sequence 2^53', (feed) => ({ ...feed, sequence: 2n ** 53n })],
      [
        'nine signatures',
        (feed) => ({
          ...feed,
          signatures: Array.from({ length: 9 }, () => (feed['signatures'] as JsonObject[])[0] ?? null),
        }),
      ],
    ])('%s is invalid_sovereign_revocation_feed', async (_what, change) => {
      const issuer = newIssuer()
      const feed = change(asJson(foreignFeed(issuer, 1, ['a'])))
      // The form of the feed is checked before the form of the keys.
      const answer = await send({ ...(feed === undefined ? {} : { feed }), issuer_public_keys: 'x' })
      refused(answer, 400, 'invalid_sovereign_revocation_feed')
      expect(await eventsOf(na, answer)).toEqual([])
    })

    it.each<JsonValue>([
      'x',
      7,
      true,
      ['x'],
      [null],
      { k: 'x' },
      { k: null },
      { k: [] },
      Array<string>(65).fill(foreignSovereign('X').publicKey),
    ])('the keys %j are invalid_public_keys', async (issuer_public_keys) => {
      const answer = await send({
        feed: asJson(foreignFeed(newIssuer(), 1, [])),
        issuer_public_keys,
        expected_issuer_sovereign_id: 'X',
      })
      refused(answer, 400, 'invalid_public_keys')
      expect(await eventsOf(na, answer)).toEqual([])
    })

    it('wrong_issuer when another is expected, or when it is this authority', async () => {
      const issuer = newIssuer()
      await expectRejected(
        { feed: asJson(foreignFeed(issuer, 1, [])), expected_issuer_sovereign_id: 'OTHER' },
        issuer,
        400,
        'wrong_issuer',
      )
      const us = foreignSovereign('TEST-NET')
      await expectRejected(
        { feed: asJson(foreignFeed(us, 1, [])), issuer_public_keys: [us.publicKey] },
        us,
        400,
        'wrong_issuer',
      )
      await expectRejected(
        { feed: asJson(foreignFeed(us, 1, [])), expected_issuer_sovereign_id: 'TEST-NET' },
        us,
        400,
        'wrong_issuer',
      )
    })

    it('missing_issuer_public_keys when no key is known', async () => {
      const issuer = newIssuer()
      // Before the signature is checked.
      const answer = await send({ feed: { ...asJson(foreignFeed(issuer, 1, [])), signatures: [] } })
      expect(refused(answer, 400, 'missing_issuer_public_keys')['details']).toEqual({
        issuer_sovereign_id: issuer.sovereign_id,
      })
      expect(await eventsOf(na, answer)).toEqual([])
    })

    it('missing_issuer_public_keys again when the treaty was revoked', async () => {
      const issuer = newIssuer()
      const treaty = await recognise(issuer)
      accepted(await send({ feed: asJson(foreignFeed(issuer, 1, [])) }))
      accepted(await na.as('privileged')('POST', `/admin/recognition-treaties/${treaty}/revoke`, {}))
      refused(await send({ feed: asJson(foreignFeed(issuer, 2, [])) }), 400, 'missing_issuer_public_keys')
    })

    it('missing_signature, also when it is absent', async () => {
      const issuer = newIssuer()
      const { signatures: _dropped, ...feed } = asJson(foreignFeed(issuer, 1, ['a']))
      for (const each of [feed, { ...feed, signatures: [] }])
        await expectRejected({ feed: each, issuer_public_keys: [issuer.publicKey] }, issuer, 400, 'missing_signature')
    })

    it('invalid_signature under other keys, of a map only under the id of the signature', async () => {
      const [issuer, thief] = [newIssuer(), foreignSovereign('THIEF')]
      const feed = asJson(foreignFeed(issuer, 1, ['a']))
      await expectRejected({ feed, issuer_public_keys: [thief.publicKey] }, issuer, 400, 'invalid_signature')
      await expectRejected(
        { feed, issuer_public_keys: { 'other-id': issuer.publicKey } },
        issuer,
        400,
        'invalid_signature',
      )
      await expectRejected(
        { feed, issuer_public_keys: { [issuer.key_id]: thief.publicKey } },
        issuer,
        400,
        'invalid_signature',
      )
      await expectRejected(
        { feed: { ...feed, sequence: 2 }, issuer_public_keys: [issuer.publicKey] },
        issuer,
        400,
        'invalid_signature',
      )
      await recognise(issuer)
      // Supplied keys are used when given, not the pinned ones in addition.
      await expectRejected({ feed, issuer_public_keys: [thief.publicKey] }, issuer, 400, 'invalid_signature')
    })

    it('sequence_jump above a million more, unless it is accepted, which is audited', async () => {
      const issuer = newIssuer()
      await recognise(issuer)
      accepted(await send({ feed: asJson(foreignFeed(issuer, 1_000_000, [])) }))
      accepted(await send({ feed: asJson(foreignFeed(issuer, 2_000_000, ['a'])) }))
      const far = asJson(foreignFeed(issuer, 3_000_001, ['a', 'b']))
      for (const more of [{}, { accept_sequence_jump: false }]) {
        const answer = await send({ feed: far, ...more })
        expect(refused(answer, 400, 'invalid_sovereign_revocation_feed')['details']).toMatchObject({
          reason: 'sequence_jump',
        })
      }
      expect(await imported(issuer)).toEqual(['a'])
      const answer = await send({ feed: far, accept_sequence_jump: true })
      accepted(answer)
      expect(canonicalJson(detailsOf((await eventsOf(na, answer))[0]))).toContain('sequence_jump')
      expect(await imported(issuer)).toEqual(['a', 'b'])
    })

    it('sequence_jump of the first feed counts from 0', async () => {
      const issuer = newIssuer()
      const body = (sequence: number): JsonObject => ({
        feed: asJson(foreignFeed(issuer, sequence, [])),
        issuer_public_keys: [issuer.publicKey],
      })
      refused(await send(body(1_000_001)), 400, 'invalid_sovereign_revocation_feed')
      refused(await send(body(Number.MAX_SAFE_INTEGER)), 400, 'invalid_sovereign_revocation_feed')
      accepted(await send(body(1_000_000)))
    })

    it.each<JsonValue>(['true', 1, null])('accept_sequence_jump %j is invalid_input', async (accept_sequence_jump) => {
      refused(await send({ feed: asJson(foreignFeed(newIssuer(), 1, [])), accept_sequence_jump }), 400, 'invalid_input')
    })

    it('names every unknown member', async () => {
      expect(refused(await send({ feed: {}, keys: [] }), 400, 'unexpected_field')['details']).toEqual({
        fields: ['keys'],
      })
    })
  })

  describe('401 and 403', () => {
    it('is for privileged operators', async () => {
      const body = { feed: asJson(foreignFeed(newIssuer(), 1, [])) }
      refused(await na.request('POST', '/admin/sovereign-revocation-feeds/import', { body }), 401, 'admin_auth_failed')
      refused(await send(body, 'standard'), 403, 'insufficient_operator_tier')
    })
  })

  describe('409', () => {
    it('stale_sequence for the same or an earlier one, whatever its content', async () => {
      const issuer = newIssuer()
      await recognise(issuer)
      const feed = asJson(foreignFeed(issuer, 5, ['a']))
      accepted(await send({ feed }))
      await expectRejected({ feed }, issuer, 409, 'stale_sequence', { unchanged: true })
      await expectRejected({ feed: asJson(foreignFeed(issuer, 5, ['a', 'b'])) }, issuer, 409, 'stale_sequence')
      await expectRejected({ feed: asJson(foreignFeed(issuer, 4, ['z'])) }, issuer, 409, 'stale_sequence')
    })

    it('records that the feed of a sovereign without changes was checked, and that of no other', async () => {
      const issuer = newIssuer()
      await recognise(issuer)
      const seen = async (): Promise<number> => {
        const peers = await listPeerFeeds(na.core.database.read, clock.now())
        const seenAt = peers.find(({ sovereign }) => sovereign === issuer.sovereign_id)?.seenAt
        return seenAt === undefined ? -1 : Number((clock.now() - seenAt) / HOUR)
      }
      expect(await seen()).toBe(-1)
      accepted(await send({ feed: asJson(foreignFeed(issuer, 4, ['a'])) }))
      accepted(await send({ feed: asJson(foreignFeed(issuer, 5, ['a', 'b'])) }))
      clock.advance(30 * 3600)
      expect(await seen()).toBe(30)
      // An earlier feed, one with more ids under the same sequence, and one signed by another key prove nothing.
      refused(await send({ feed: asJson(foreignFeed(issuer, 4, ['a'])) }), 409, 'stale_sequence')
      const more = await send({ feed: asJson(foreignFeed(issuer, 5, ['a', 'b', 'c'])) })
      expect(refused(more, 409, 'stale_sequence')['details']).not.toHaveProperty('unchanged')
      const forged = { ...asJson(foreignFeed(issuer, 5, ['a', 'b'])), issued_by: 'x' }
      refused(await send({ feed: forged }), 400, 'invalid_signature')
      expect(await seen()).toBe(30)
      // The same feed, signed again.
      const same = await send({ feed: asJson(foreignFeed(issuer, 5, ['b', 'a'])) })
      expect(refused(same, 409, 'stale_sequence')['details']).toMatchObject({ sequence: 5, unchanged: true })
      expect(await seen()).toBe(0)
    })

    it('the signature is checked before the sequence', async () => {
      const issuer = newIssuer()
      await recognise(issuer)
      accepted(await send({ feed: asJson(foreignFeed(issuer, 5, [])) }))
      const forged = { ...asJson(foreignFeed(issuer, 4, [])), issued_by: 'x' }
      await expectRejected({ feed: forged }, issuer, 400, 'invalid_signature')
      await expectRejected({ feed: { ...forged, signatures: [] } }, issuer, 400, 'missing_signature')
    })

    it('accepts one of several parallel imports of one sequence', async () => {
      const issuer = newIssuer()
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, i) =>
          send({ feed: asJson(foreignFeed(issuer, 1, [`a-${i}`])), issuer_public_keys: [issuer.publicKey] }),
        ),
      )
      expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409, 409, 409, 409, 409, 409, 409])
      expect(await imported(issuer)).toHaveLength(1)
    })
  })
})
