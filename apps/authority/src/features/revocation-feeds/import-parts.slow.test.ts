import { createHash } from 'node:crypto'
import { type Instant, type JsonObject, type JsonValue, digestOf, readJson } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  foreignFeed,
  foreignSovereign,
  refused,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignSovereign, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listPeerFeeds } from './index.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock('2026-01-02T03:04:05Z')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

let counter = 0
function newIssuer(): ForeignSovereign {
  counter += 1
  return foreignSovereign(`PARTED-${counter}`)
}

const partOf = (id: string, bits: number): number =>
  bits === 0 ? 0 : createHash('sha256').update(id).digest().readUInt16BE(0) >>> (16 - bits)

/** Parts as another implementation writes them. */
function partsOf(issuer: ForeignSovereign, ids: readonly string[], bits: number): JsonObject[] {
  return Array.from({ length: 2 ** bits }, (_, part) => ({
    issuer_sovereign_id: issuer.sovereign_id,
    part,
    part_bits: bits,
    revoked_attestation_ids: ids.filter((id) => partOf(id, bits) === part).sort(),
    revocation_reasons: {},
  }))
}

function indexOf(issuer: ForeignSovereign, sequence: number, parts: readonly JsonObject[], by = issuer): JsonObject {
  const rows = parts.map((part) => ({
    part: Number(part['part']),
    count: (part['revoked_attestation_ids'] as string[]).length,
    digest: digestOf(part),
  }))
  return readJson(
    wireText(
      by.sign({
        index_id: `index-${issuer.sovereign_id}-${sequence}`,
        issuer_sovereign_id: issuer.sovereign_id,
        issued_by: by.key_id,
        sequence,
        issued_at: '2026-01-02T03:00:00Z',
        total_ids: rows.reduce((sum, row) => sum + row.count, 0),
        part_bits: Math.log2(parts.length),
        parts: rows,
      }),
    ),
  ) as JsonObject
}

const send = (issuer: ForeignSovereign, body: JsonObject): Promise<TestResponse> =>
  na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', {
    issuer_public_keys: [issuer.publicKey],
    ...body,
  })
const stored = async (issuer: ForeignSovereign): Promise<string[]> => {
  const rows = await na.core.database.read
    .selectFrom('imported_sovereign_revocations')
    .select('attestation_id')
    .where('issuer_sovereign_id', '=', issuer.sovereign_id)
    .execute()
  return rows.map((row) => row.attestation_id).sort()
}
const lastOf = async (issuer: ForeignSovereign): Promise<JsonValue> => {
  const row = await na.core.database.read
    .selectFrom('sovereign_revocation_feeds')
    .select(['sequence', 'complete'])
    .where('issuer_sovereign_id', '=', issuer.sovereign_id)
    .orderBy('sequence', 'desc')
    .executeTakeFirst()
  return row === undefined ? null : [Number(row.sequence), row.complete]
}
const IDS = Array.from({ length: 12 }, (_, i) => `att-${String(i).padStart(2, '0')}`)

const seenAt = async (issuer: ForeignSovereign): Promise<readonly (Instant | undefined)[]> => {
  const peers = await listPeerFeeds(na.core.database.read, clock.now())
  return peers.filter(({ sovereign }) => sovereign === issuer.sovereign_id).map((peer) => peer.seenAt)
}

describe('POST /admin/sovereign-revocation-feeds/import of an index and parts', () => {
  it('imports all at once: complete, and the sequence advances', async () => {
    const issuer = newIssuer()
    const parts = partsOf(issuer, IDS, 2)
    const index = indexOf(issuer, 6, parts)
    expect(accepted(await send(issuer, { index, parts }))).toEqual({
      accepted: true,
      reason: 'accepted',
      feed_id: index['index_id'],
      issuer_sovereign_id: issuer.sovereign_id,
      sequence: 6,
      revoked_count: 12,
      trust_basis: 'caller_supplied_keys',
      complete: true,
    })
    expect(await stored(issuer)).toEqual(IDS)
    expect(await lastOf(issuer)).toEqual([6, 1])
    refused(await send(issuer, { index, parts }), 409, 'stale_sequence')
  })

  it('imports some: their ids are revoked immediately, the sequence advances with the last one', async () => {
    const issuer = newIssuer()
    const parts = partsOf(issuer, IDS, 1)
    const index = indexOf(issuer, 3, parts)
    expect(accepted(await send(issuer, { index, parts: parts.slice(0, 1) }))).toMatchObject({ complete: false })
    expect(await stored(issuer)).toEqual(parts[0]?.['revoked_attestation_ids'])
    expect(await lastOf(issuer)).toBeNull()
    expect(accepted(await send(issuer, { index, parts: parts.slice(1) }))).toMatchObject({ complete: true })
    expect([await stored(issuer), await lastOf(issuer)]).toEqual([IDS, [3, 1]])
    // After one more revocation only the changed part is sent.
    const more = partsOf(issuer, [...IDS, 'late'], 1)
    const changed = more.filter((part, n) => digestOf(part) !== digestOf(parts[n] ?? null))
    expect(changed).toHaveLength(1)
    expect(accepted(await send(issuer, { index: indexOf(issuer, 4, more), parts: changed }))).toMatchObject({
      complete: true,
    })
    expect([await stored(issuer), await lastOf(issuer)]).toEqual([[...IDS, 'late'].sort(), [4, 1]])
  })

  it('completes a plain feed of the same sequence that could not contain all ids', async () => {
    const issuer = newIssuer()
    const ids = Array.from({ length: 50_000 }, (_, i) => `id-${String(i).padStart(6, '0')}`)
    const feed = readJson(wireText(foreignFeed(issuer, 9, ids)), { maxDepth: 9, maxValues: 200_000, maxNames: 9 })
    const treaty = { subject_sovereign_id: issuer.sovereign_id, subject_public_keys: [issuer.publicKey] }
    accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', treaty), 201)
    expect(accepted(await send(issuer, { feed }))).toMatchObject({ complete: false })
    // Ids that did not fit are not imported yet, so the sovereign does not count as seen.
    expect(await seenAt(issuer)).toEqual([undefined])
    const parts = partsOf(issuer, [...ids, 'oldest'], 3)
    expect(accepted(await send(issuer, { index: indexOf(issuer, 9, parts), parts }))).toMatchObject({ complete: true })
    expect(await lastOf(issuer)).toEqual([9, 1])
    expect(await stored(issuer)).toHaveLength(50_001)
    expect(await seenAt(issuer)).toEqual([clock.now()])
  }, 120_000)

  it('refuses a part that is not in the index, an index of another key, and both forms at once', async () => {
    const issuer = newIssuer()
    const parts = partsOf(issuer, IDS, 1)
    const index = indexOf(issuer, 1, parts)
    const [first, second] = parts as [JsonObject, JsonObject]
    const code = 'invalid_sovereign_revocation_feed'
    for (const bad of [
      { index, parts: [{ ...first, revoked_attestation_ids: [] }] },
      { index, parts: [{ ...first, part: 1 }] },
      { index, parts: [first, first] },
      { index, parts: [] },
      { index },
      { parts },
      { index: { ...index, total_ids: 1 }, parts },
      { index, parts: [second, first], feed: readJson(wireText(foreignFeed(issuer, 1, []))) },
    ] as JsonObject[])
      refused(await send(issuer, bad), 400, code)
    const thief = foreignSovereign(issuer.sovereign_id, 'thief')
    refused(await send(issuer, { index: indexOf(issuer, 1, parts, thief), parts }), 400, 'invalid_signature')
    expect([await stored(issuer), await lastOf(issuer)]).toEqual([[], null])
  })

  it('imports nothing above the limit for one issuer', async () => {
    const issuer = newIssuer()
    const db = rowsOf(na.core.database)
    const parts = partsOf(issuer, IDS, 0)
    await db
      .insertInto('imported_issuers')
      .values({ issuer_sovereign_id: issuer.sovereign_id, ids: 2_000_000 - IDS.length + 1 })
      .execute()
    refused(await send(issuer, { index: indexOf(issuer, 1, parts), parts }), 409, 'import_capacity')
    const feed = readJson(wireText(foreignFeed(issuer, 1, IDS)))
    refused(await send(issuer, { feed }), 409, 'import_capacity')
    expect([await stored(issuer), await lastOf(issuer)]).toEqual([[], null])
    accepted(await send(issuer, { feed: readJson(wireText(foreignFeed(issuer, 1, IDS.slice(1)))) }))
  })

  it('stores the texts of the newest two feeds of an issuer, and digests of older ones', async () => {
    const issuer = newIssuer()
    const feeds = [1, 2, 3, 4].map((sequence) => readJson(wireText(foreignFeed(issuer, sequence, ['a']))))
    for (const feed of feeds) accepted(await send(issuer, { feed }))
    const rows = await na.core.database.read
      .selectFrom('sovereign_revocation_feeds')
      .select(['feed_json', 'digest', 'revoked_count'])
      .where('issuer_sovereign_id', '=', issuer.sovereign_id)
      .orderBy('sequence')
      .execute()
    expect(rows.map(({ feed_json, digest }) => [feed_json === '', digest !== null])).toEqual([
      [true, true],
      [true, true],
      [false, false],
      [false, false],
    ])
  })
})
