import { canonicalJson, draftRevocationFeed, isPartOf, readFeedIndex, readFeedPart, signList } from '@chancery/protocol'
import type { FeedIndex, FeedPart, JsonValue } from '@chancery/protocol'
import { ManualClock, accepted, createTestDatabase, startTestAuthority, testSigner } from '@chancery/testkit'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { migrate } from '../../database/migrate.ts'
import { openDatabase } from '../../database/open.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const COUNT = 60_000
const FULL = 50_000

/** A database of 0.1.0, which 0.2.0 migrated: its feed stopped at 50,000 ids, and 10,000 later withdrawals are in no feed. */
it('publishes what the feed of an earlier release had no room for', { timeout: 400_000 }, async () => {
  const clock = new ManualClock('2026-01-10T00:00:00Z')
  const testDatabase = await createTestDatabase()
  const { DB_PATH: path, DATABASE_URL: url } = testDatabase.settings
  const database = openDatabase(path === undefined ? { kind: 'postgres', url: url ?? '' } : { kind: 'sqlite', path })
  const ids = Array.from({ length: COUNT }, (_, i) => `att-${String(i).padStart(6, '0')}`)
  try {
    await migrate(database, () => 0n)
    const text = '{"expires_at":"2027-01-01T00:00:00Z"}'
    for (let at = 0; at < COUNT; at += 1000) {
      const rows = ids
        .slice(at, at + 1000)
        .map(
          (id, i) =>
            sql`(${id}, 'TEST-NET', 'x', 'revoked', ${text}, '2026-01-01T00:00:00.000000Z', ${`2026-01-02T00:00:00.${String(at + i).padStart(6, '0')}Z`}, 'left')`,
        )
      await sql`insert into membership_attestations
        (attestation_id, issuer_sovereign_id, subject_id, status, attestation_json, issued_at, revoked_at, revocation_reason)
        values ${sql.join(rows)}`.execute(rowsOf(database))
    }
    const draft = draftRevocationFeed({
      feed_id: 'old-feed',
      issuer_sovereign_id: 'TEST-NET',
      sequence: FULL,
      issued_at: '2026-01-02T00:00:00Z',
      reasons: new Map(ids.slice(0, FULL).map((id) => [id, 'left'])),
      issued_by: 'na-test',
    })
    const sealed = await signList(draft, await testSigner('na-test', 'na'))
    await sql`insert into own_revocation_feeds (sequence, feed_json, issued_at)
      values (${FULL}, ${canonicalJson(sealed)}, '2026-01-02T00:00:00.000000Z')`.execute(rowsOf(database))
  } finally {
    await database.close()
  }

  const na = await startTestAuthority({ clock, database: testDatabase, settings: { NA_CLOCK_CHECK: 'off' } })
  try {
    const read = async (at: string): Promise<JsonValue> =>
      JSON.parse((await na.request('GET', `/sovereign-revocation-feed${at}`)).text) as JsonValue
    type Feed = { sequence: number; revoked_attestation_ids: string[] }
    // A job makes the first version of this release; until it is there the old one is served.
    await expect.poll(async () => ((await read('')) as Feed).sequence, { timeout: 120_000 }).toBe(FULL + 1)
    const feed = (await read('')) as Feed
    expect(feed.revoked_attestation_ids).toEqual(ids.slice(COUNT - FULL))
    const index = readFeedIndex(await read('/index'))
    expect([index.sequence, index.total_ids, index.part_bits]).toEqual([FULL + 1, COUNT, 3])
    const parts: FeedPart[] = []
    for (const entry of index.parts) parts.push(readFeedPart(await read(`/parts/${entry.part}`)))
    expect(parts.every((part) => isPartOf(part, index))).toBe(true)
    expect(parts.flatMap((part) => part.revoked_attestation_ids).sort()).toEqual(ids)
    expect(await importedBy(na.genesis.network_authority.public_key, index, parts)).toEqual(ids)
  } finally {
    await na.stop()
  }
})

/** What a peer refuses after it has imported index and parts. */
async function importedBy(key: string, index: FeedIndex, parts: readonly FeedPart[]): Promise<readonly string[]> {
  const peer = await startTestAuthority({ network: 'PEER-NET' })
  try {
    const body = { index, parts, issuer_public_keys: [key] }
    const done = await peer.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', body)
    expect(accepted(done)).toMatchObject({ complete: true, revoked_count: index.total_ids })
    const rows = await peer.core.database.read
      .selectFrom('imported_sovereign_revocations')
      .select('attestation_id')
      .where('issuer_sovereign_id', '=', 'TEST-NET')
      .execute()
    return rows.map((row) => row.attestation_id).sort()
  } finally {
    await peer.stop()
  }
}
