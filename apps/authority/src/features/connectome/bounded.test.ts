import type { JsonObject } from '@chancery/protocol'
import { ManualClock, type TestAuthority, refused, seedTreaties, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeCursor } from '../../requests/paging.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const COUNT = 10_050
const clock = new ManualClock('2026-01-02T03:04:05Z')
const number = (i: number): string => String(i).padStart(6, '0')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  await seedTreaties(na.parts, [
    { treaty_id: 't-1', from: 'TEST-NET', to: 'PARTNER' },
    { treaty_id: 't-2', from: 'TEST-NET', to: 'OTHER', revokedBecause: 'over' },
  ])
  const rows = Array.from({ length: COUNT }, (_, i) => ({
    // The last two issuers each revoked one attestation, both with the same id.
    issuer_sovereign_id: i === COUNT - 1 ? 'OTHER' : 'PARTNER',
    attestation_id: i === COUNT - 1 ? `a-${number(COUNT - 2)}` : `a-${number(i)}`,
    feed_id: 'f',
    sequence: 1,
    reason: null,
    // Of the first 60, which are older, the graph leaves out 50.
    imported_at: `2026-01-02T03:0${i < 60 ? 3 : 4}:05.000000Z`,
  }))
  for (let at = 0; at < COUNT; at += 1000)
    await rowsOf(na.core.database)
      .insertInto('imported_sovereign_revocations')
      .values(rows.slice(at, at + 1000))
      .execute()
  await rowsOf(na.core.database)
    .insertInto('imported_issuers')
    .values([
      { issuer_sovereign_id: 'PARTNER', ids: COUNT - 1, confirmed_at: null },
      { issuer_sovereign_id: 'OTHER', ids: 1, confirmed_at: null },
    ])
    .execute()
})
afterAll(() => na.stop())

type Page = { revoked_trust_material: JsonObject[]; revocation_blast_radius: JsonObject[]; next_cursor: string | null }
async function read(query: string): Promise<Page> {
  const answer = await na.request('GET', `/connectome.json${query}`)
  expect(answer.status).toBe(200)
  // Longer than the limit of the testkit's strict reader.
  return JSON.parse(answer.text) as Page
}

describe('GET /connectome.json of a large graph', () => {
  it('has 10,000 rows of revoked material, the count of all, and a link to the others', async () => {
    const whole = await read('')
    expect(whole.revoked_trust_material).toHaveLength(10_000)
    expect(whole.revocation_blast_radius).toHaveLength(10_000)
    expect((whole as unknown as JsonObject)['summary']).toMatchObject({
      imported_revocation_count: COUNT,
      revoked_trust_material_count: COUNT + 1,
    })
    const rest = await read(`?view=revoked&cursor=${String(whole.next_cursor)}`)
    expect(rest.next_cursor).toBeNull()
    expect(rest.revoked_trust_material).toMatchObject([{ type: 'recognition_treaty', id: 't-2' }])
    expect(rest.revocation_blast_radius).toEqual([])
  })

  it('pages contain the 10,000 newest and the treaties once, in order, also where two issuers share an id', async () => {
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: Page = await read(`?view=revoked&limit=3000${cursor === '' ? '' : `&cursor=${cursor}`}`)
      expect(page.revoked_trust_material.length).toBeLessThanOrEqual(3000)
      seen.push(
        ...page.revoked_trust_material.map((row) => `${String(row['id'])} ${String(row['issuer_sovereign_id'])}`),
      )
      cursor = page.next_cursor
    }
    expect(new Set(seen).size).toBe(10_001)
    // Of equal times the smaller ids are taken.
    expect(seen.slice(0, 11)).toEqual(
      [...Array.from({ length: 10 }, (_, i) => i), 60].map((i) => `a-${number(i)} PARTNER`),
    )
    expect(seen).toEqual([...seen.slice(0, -1).sort(), 't-2 undefined'])
    const two = seen.filter((row) => row.startsWith(`a-${number(COUNT - 2)} `))
    expect(two).toEqual([`a-${number(COUNT - 2)} OTHER`, `a-${number(COUNT - 2)} PARTNER`])
  })

  it.each([
    'limit=0',
    'limit=10001',
    'limit=x',
    'cursor=x',
    ...['x', '{', '{"type":', '{}', '{"type":"a"}', '{"type":1,"id":"b"}', '[]'].map(
      (place) => `cursor=${writeCursor(place)}`,
    ),
  ])('view=revoked with %s is 400 invalid_page', async (query) => {
    refused(await na.request('GET', `/connectome.json?view=revoked&${query}`), 400, 'invalid_page')
  })
})
