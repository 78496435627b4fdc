import { describe, expect, it } from 'vitest'
import { olderThanDays, removalEffect } from './older-than.ts'

const NOW = Date.parse('2026-11-16T12:00:00Z')

describe('olderThanDays', () => {
  it('never reaches past the date', () => {
    const days = olderThanDays('2026-11-10', NOW) ?? 0
    expect(days).toBe(7)
    expect(NOW - days * 86_400_000).toBeLessThanOrEqual(Date.parse('2026-11-10T00:00:00Z'))
  })

  it.each(['2026-11-16', '2027-01-01', 'yesterday', '2026-13-01', ''])('refuses %s', (date) => {
    expect(olderThanDays(date, NOW)).toBeUndefined()
  })
})

describe('removalEffect', () => {
  const textOf = (dryRun: Parameters<typeof removalEffect>[1]): string => removalEffect('2026-11-10', dryRun).text
  const some = { would_change: true, removed_count: 5, removed_through_sequence: 9 }

  it('gives numbers only when the dry run read everything', () => {
    expect(textOf({ ...some, complete: true })).toBe('5 entries are removed, up to #9')
    expect(textOf({ ...some, complete: false })).toBe('At least 5 entries are removed, up to #9 or later')
  })

  it('says that nothing is removed only when the dry run read everything', () => {
    expect(textOf({ would_change: false, complete: true })).toBe('No entry from before 2026-11-10 can be removed')
    expect(textOf({ would_change: false, complete: false })).toContain('is not known')
    expect(textOf(undefined)).toContain('is not known')
  })
})
