import { createHash } from 'node:crypto'
import { canonicalJson, readFeedIndex, readFeedPart, verifyList } from '@chancery/protocol'
import type { FeedIndex, FeedPart, JsonObject, JsonValue } from '@chancery/protocol'
import { ManualClock, type TestAuthority, accepted, refused, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FeedPieces } from './feed-text.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock('2026-01-02T03:04:05Z')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

const read = async (path: string): Promise<JsonValue> => {
  const answer = await na.request('GET', path)
  expect(answer.status).toBe(200)
  // Longer than the limit of the testkit's strict reader.
  return JSON.parse(answer.text) as JsonValue
}
const index = async (): Promise<FeedIndex> => readFeedIndex(await read('/sovereign-revocation-feed/index'))
const part = async (n: number): Promise<FeedPart> => readFeedPart(await read(`/sovereign-revocation-feed/parts/${n}`))
const plain = async (): Promise<{ sequence: number; issued_at: string; revoked_attestation_ids: string[] }> =>
  (await read('/sovereign-revocation-feed')) as never

async function issue(): Promise<string> {
  const body = { subject_id: 'x', roles: ['role:client'] }
  return String(accepted(await na.as('privileged')('POST', '/admin/attestations', body), 201)['attestation_id'])
}
const revoke = async (id: string): Promise<JsonObject> =>
  accepted(await na.as('privileged')('POST', `/admin/attestations/${id}/revoke`, { reason: 'left' }))

/** Revoked attestations as another instance, or an earlier release, stores them. */
async function seed(count: number, from: string): Promise<string[]> {
  const db = rowsOf(na.core.database)
  const row = await db
    .selectFrom('membership_attestations')
    .selectAll()
    .where('attestation_id', '=', from)
    .executeTakeFirstOrThrow()
  const ids = Array.from({ length: count }, (_, i) => `planted-${String(i).padStart(6, '0')}`)
  for (let at = 0; at < ids.length; at += 500)
    await db
      .insertInto('membership_attestations')
      .values(ids.slice(at, at + 500).map((attestation_id) => ({ ...row, attestation_id })))
      .execute()
  return ids
}
const bitsOf = (id: string, bits: number): number =>
  bits === 0 ? 0 : createHash('sha256').update(id).digest().readUInt16BE(0) >>> (16 - bits)
const digest = (value: JsonValue): string => createHash('sha256').update(canonicalJson(value)).digest('hex')

/** Checks every rule of the index, computed again from the served documents. */
async function expectWhole(ids: readonly string[]): Promise<FeedIndex> {
  const found = await index()
  const feed = await plain()
  expect(await verifyList(found, [na.genesis.network_authority.public_key])).toBe(true)
  expect([found.sequence, found.issued_at, found.total_ids]).toEqual([feed.sequence, feed.issued_at, ids.length])
  const all: string[] = []
  for (const entry of found.parts) {
    const each = await part(entry.part)
    expect([digest(each as unknown as JsonValue), each.revoked_attestation_ids.length]).toEqual([
      entry.digest,
      entry.count,
    ])
    expect(each.revoked_attestation_ids.every((id) => bitsOf(id, found.part_bits) === entry.part)).toBe(true)
    all.push(...each.revoked_attestation_ids)
  }
  expect(all.sort()).toEqual([...ids].sort())
  return found
}

describe('GET /sovereign-revocation-feed/index and /parts/{part}', () => {
  it('begin with one empty part', async () => {
    expect(await expectWhole([])).toMatchObject({ part_bits: 0, sequence: 0 })
    for (const asked of ['1', '256', '-1', 'x', '00', '1e0'])
      refused(await na.request('GET', `/sovereign-revocation-feed/parts/${asked}`), 404, 'feed_part_not_found')
  })

  it('have an ETag, and 304 for readers that have it', async () => {
    for (const path of ['index', 'parts/0']) {
      const { headers } = await na.request('GET', `/sovereign-revocation-feed/${path}`)
      const again = { headers: { 'If-None-Match': String(headers.etag) } }
      expect((await na.request('GET', `/sovereign-revocation-feed/${path}`, again)).status).toBe(304)
    }
  })

  it('are split further as they grow, and one revocation changes one of them', { timeout: 120_000 }, async () => {
    const first = await issue()
    await revoke(first)
    const seeded = await seed(20_000, first)
    const next = await issue()
    await revoke(next)
    const before = await expectWhole([first, ...seeded, next])
    // 20,002 ids are more than 2 parts of 8192.
    expect(before.part_bits).toBe(2)
    const last = await issue()
    await revoke(last)
    const after = await expectWhole([first, ...seeded, next, last])
    const changed = after.parts.filter(({ digest: now }, n) => now !== before.parts[n]?.digest)
    expect(changed.map((entry) => entry.part)).toEqual([bitsOf(last, 2)])
    expect((await plain()).revoked_attestation_ids).toHaveLength(20_003)
  })

  it(
    'a revocation beyond the 50,000th is in the plain form, and older ones in the parts',
    { timeout: 120_000 },
    async () => {
      const db = rowsOf(na.core.database)
      const stored = await db.selectFrom('membership_attestations').select('attestation_id').execute()
      clock.advance(1)
      const marker = await issue()
      await revoke(marker)
      const row = await db
        .selectFrom('membership_attestations')
        .selectAll()
        .where('attestation_id', '=', marker)
        .executeTakeFirstOrThrow()
      const more = Array.from({ length: 40_000 }, (_, i) => `more-${String(i).padStart(6, '0')}`)
      for (let at = 0; at < more.length; at += 500)
        await db
          .insertInto('membership_attestations')
          .values(more.slice(at, at + 500).map((attestation_id) => ({ ...row, attestation_id })))
          .execute()
      clock.advance(1)
      const last = await issue()
      await revoke(last)
      const feed = await plain()
      expect(feed.revoked_attestation_ids).toHaveLength(50_000)
      expect(feed.revoked_attestation_ids).toEqual(expect.arrayContaining([last, marker, 'more-000000', 'more-039999']))
      await expectWhole([...stored.map((each) => each.attestation_id), marker, ...more, last])
      expect((await na.request('GET', '/sovereign-revocation-feed')).headers['chancery-feed-total']).toBe('60005')
    },
  )
})

describe('FeedPieces', () => {
  const rows = ['c', 'a', 'b'].map((attestation_id) => ({
    attestation_id,
    revoked_at: `t-${attestation_id}`,
    reason: 'x'.repeat(50),
  }))
  const reasonsIn = (maxBytes: number): readonly string[] =>
    Object.keys(JSON.parse(new FeedPieces(rows).write(maxBytes).revocation_reasons) as object)

  it('keeps all reasons if they fit, otherwise drops the oldest first', () => {
    const whole = new FeedPieces(rows)
    expect([whole.ids, whole.write(1000).revoked_attestation_ids]).toEqual([['a', 'b', 'c'], '["a","b","c"]'])
    expect(reasonsIn(1000)).toEqual(['a', 'b', 'c'])
    const fitted = new FeedPieces(rows).write(140)
    expect(fitted.revoked_attestation_ids.length + fitted.revocation_reasons.length).toBeLessThanOrEqual(140)
    expect(reasonsIn(140)).toEqual(['b', 'c'])
    expect(reasonsIn(2)).toEqual([])
  })

  it('writes canonical JSON', () => {
    const odd = ['\u{1f600}', '\ue000', 'é"', '10', '9'].map((id) => ({
      attestation_id: id,
      revoked_at: '',
      reason: `né ${id}`,
    }))
    const pieces = new FeedPieces(odd)
    const written = pieces.write(10_000)
    const reasons = Object.fromEntries(odd.map((row) => [row.attestation_id, row.reason]))
    expect(written.revocation_reasons).toBe(canonicalJson(reasons))
    expect(written.revoked_attestation_ids).toBe(canonicalJson(pieces.ids))
  })

  it('changes like a new list', () => {
    const row = (id: string, time: number) => ({ attestation_id: id, revoked_at: `t${time}`, reason: `r ${id}` })
    const all = ['m', 'c', 'z', 'a', 'q'].map((id, time) => row(id, time))
    const pieces = new FeedPieces(all.slice(0, 3))
    for (const each of all.slice(3)) expect(pieces.add(each)).toBe(true)
    pieces.removeOldest()
    expect([pieces.ids, pieces.write(1000)]).toEqual([['a', 'c', 'q', 'z'], new FeedPieces(all.slice(1)).write(1000)])
    expect(pieces.add(row('late', 0))).toBe(false)
    expect(pieces.ids).toHaveLength(4)
  })
})
