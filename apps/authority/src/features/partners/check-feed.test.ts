import { readJson, toUtf8 } from '@chancery/protocol'
import { foreignFeed, foreignSovereign, wireText } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { type CheckedFeed, type FeedTask, checkFeed } from './check-feed.ts'

const issuer = foreignSovereign('ELSEWHERE')
const ids = Array.from({ length: 12_000 }, (_, i) => `id-${String(i).padStart(5, '0')}`)
const feed = wireText(foreignFeed(issuer, 4, ids, { revocation_reasons: { 'id-00001': 'left', 'id-11999': 'lost' } }))

async function check(importing: FeedTask['importing']): Promise<CheckedFeed> {
  const found = await checkFeed({
    blocks: [toUtf8(feed)],
    sovereign_id: 'ELSEWHERE',
    keys: { always: [issuer.publicKey], former: [] },
    importing,
  })
  if ('failure' in found) throw new Error(found.failure)
  return found.value
}

describe('checkFeed', () => {
  it('gives texts of at most 5000 ids to import, with their reasons', async () => {
    const { imported, facts } = await check({ keys: [], known: null })
    const slices = (imported?.slices ?? []).map((slice) => JSON.parse(slice) as [string, string | null][])
    expect(slices.map((slice) => slice.length)).toEqual([5000, 5000, 2000])
    expect(slices.flat().map(([id]) => id)).toEqual(ids)
    expect(slices.flat().filter(([, reason]) => reason !== null)).toEqual([
      ['id-00001', 'left'],
      ['id-11999', 'lost'],
    ])
    expect(imported).toMatchObject({ sequence: 4, ids: 12_000, issuer_sovereign_id: 'ELSEWHERE' })
    expect(readJson(imported?.text ?? '', { maxDepth: 9, maxValues: 20_000, maxNames: 9 })).toMatchObject({
      sequence: 4,
    })
    expect(facts.ids).toBe(12_000)
  })

  it('gives no ids when the feed is not imported, or is imported already', async () => {
    const { facts, imported } = await check(undefined)
    expect(imported).toBeNull()
    const { ids_digest, issued_at } = facts
    const known = { ids_digest, issued_at, sequence: 4 }
    expect((await check({ keys: [], known })).imported).toMatchObject({ slices: null, text: null })
    const earlier = { ...known, sequence: 3 }
    expect((await check({ keys: [], known: earlier })).imported).toMatchObject({
      slices: null,
      text: expect.any(String),
    })
    const other = { ...known, ids_digest: 'other' }
    expect((await check({ keys: [], known: other })).imported?.slices).toHaveLength(3)
  })

  /** 16 MiB that take seconds to read. */
  const filler = (unit: (n: number) => string): string =>
    Array.from({ length: 2_000_000 }, (_, n) => unit(n))
      .join(',')
      .slice(0, 16_000_000)

  it.each([
    [
      'without a head',
      `{${Array.from({ length: 1_500_000 }, (_, n) => `"${n.toString(36)}":0`).join(',')}}`,
      'malformed',
    ],
    ['of another sovereign', `{"issuer_sovereign_id":"OTHER","x":[${filler(() => '0')}0]}`, 'mismatch'],
    ['without a signature', `{"issuer_sovereign_id":"ELSEWHERE","x":[${filler(() => '0')}0]}`, 'unauthentic'],
    [
      'with too many ids',
      `{"issuer_sovereign_id":"ELSEWHERE","revoked_attestation_ids":[${filler(() => '0')}0]}`,
      'too_large',
    ],
    [
      'with more values than a feed can have',
      `{"issuer_sovereign_id":"ELSEWHERE","signatures":[{"key_id":"k","sig":"s"}],"x":[${filler(() => '0')}0]}`,
      'malformed',
    ],
  ])('reads little of a document %s', async (_name, text, failure) => {
    const blocks = [toUtf8(text)]
    const before = process.cpuUsage()
    const keys = { always: [issuer.publicKey], former: [] }
    expect(await checkFeed({ blocks, sovereign_id: 'ELSEWHERE', keys, importing: undefined })).toEqual({ failure })
    // Reading all of it takes several seconds.
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(1500)
  })
})
