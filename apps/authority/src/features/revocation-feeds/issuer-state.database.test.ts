import { type TestAuthority, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'
import { IssuerStates } from './index.ts'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

it('reads the highest sequence, and the date of the newest complete feed', async () => {
  const feed = { issuer_sovereign_id: 'PARTNER', revoked_count: 0, imported_at: '2030-01-04T00:00:00Z', digest: null }
  const text = (day: number): string => JSON.stringify({ issued_at: `2030-01-0${day}T00:00:00Z` })
  await rowsOf(na.core.database)
    .insertInto('sovereign_revocation_feeds')
    .values([
      { ...feed, sequence: 4, feed_id: 'four', feed_json: text(2), complete: 1 },
      { ...feed, sequence: 5, feed_id: 'five', feed_json: text(3), complete: 0 },
    ])
    .execute()
  const states = new IssuerStates(na.core.database)
  const expected = {
    sequence: 5,
    feed: { sequence: 4, issued_at: '2030-01-02T00:00:00Z' },
    isListed: false,
    seen_at: feed.imported_at,
  }
  expect(await states.read('PARTNER', 'a')).toEqual(expected)
  expect(await states.read('PARTNER', 'a'), 'from the cache').toEqual(expected)
  expect(await states.read('OTHER', 'a')).toEqual({
    sequence: 0,
    feed: undefined,
    isListed: false,
    seen_at: null,
  })
})
