import type { ListedPartner, TreatyRow } from '@chancery/sdk/authority'
import { describe, expect, it } from 'vitest'
import { type FeedRow, currentTreaty, filterRows, namedTreaty, partnerRows, treatyState } from './rows.ts'

const NOW = Date.parse('2026-11-16T00:00:00Z')
const at = (hours: number): string => new Date(NOW + hours * 3_600_000).toISOString()

function treaty(name: string, hours: number, state: string = 'active', id = `${name}-${hours}`): TreatyRow {
  const record = {
    treaty_id: id,
    subject_sovereign_id: name,
    scope: { allowed_roles: ['role:client'], accepted_statuses: ['active'], claims: {} },
    issued_at: at(-10),
    expires_at: at(hours),
  }
  return { treaty: record, lifecycle: { state } } as unknown as TreatyRow
}

const feed = (name: string, freshness: string): FeedRow =>
  ({ issuer_sovereign_id: name, freshness }) as unknown as FeedRow
const listed = (name: string, state: string): ListedPartner =>
  ({ sovereign_id: name, state, label: null }) as unknown as ListedPartner

it('picks the named treaty, the one that counts without a name, and none that is not listed', () => {
  const [first, second] = [treaty('A', 10), treaty('A', 20)]
  expect(namedTreaty([first, second], null)).toBe(second)
  expect(namedTreaty([first, second], 'A-10')).toBe(first)
  for (const unknown of ['A-30', '']) expect(namedTreaty([first, second], unknown)).toBeUndefined()
})

describe('partnerRows', () => {
  it('orders alarms, ends and old feeds before partners in order and ended ones', () => {
    const rows = partnerRows(
      [treaty('C', 900), treaty('D', 12), treaty('B', 60), treaty('E', 800, 'revoked'), treaty('F', 700)],
      [listed('A', 'alarm'), listed('G', 'fresh')],
      [feed('F', 'stale')],
      NOW,
    )
    expect(rows.map(({ id, state }) => [id, state.word])).toEqual([
      ['A', 'Alarm'],
      ['D', 'Ends in 12 h'],
      ['B', 'Ends in 2 d 12 h'],
      ['F', 'Feed is old'],
      ['C', 'In order'],
      ['E', 'Ended'],
      ['G', 'No treaty'],
    ])
  })

  it('filters by state, role and text', () => {
    const rows = partnerRows([treaty('ALPHA', 900), treaty('BETA', 12)], [], [], NOW)
    const find = (filter: Partial<Parameters<typeof filterRows>[1]>): readonly string[] =>
      filterRows(rows, { q: '', state: '', role: '', ...filter }).map(({ id }) => id)
    expect(find({ state: 'watch' })).toEqual(['BETA'])
    expect(find({ q: 'alp' })).toEqual(['ALPHA'])
    expect(find({ role: 'role:other' })).toEqual([])
  })
})

describe('currentTreaty', () => {
  it('is the one in force with the latest end, and not a longer one that has ended', () => {
    const rows = [treaty('A', 10), treaty('A', 30), treaty('A', 900, 'replaced')]
    expect(currentTreaty(rows)?.treaty.treaty_id).toBe('A-30')
    expect(currentTreaty([treaty('A', 900, 'replaced')])?.treaty.treaty_id).toBe('A-900')
    expect(currentTreaty([])).toBeUndefined()
  })
})

describe('treatyState', () => {
  it('is urgent in the last 24 hours, and expired after the end', () => {
    expect(treatyState(treaty('A', 23), NOW).tone).toBe('urgent')
    expect(treatyState(treaty('A', 25), NOW).tone).toBe('watch')
    expect(treatyState(treaty('A', -1), NOW).word).toBe('Expired')
  })
})
