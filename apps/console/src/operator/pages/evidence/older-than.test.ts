import { describe, expect, it } from 'vitest'
import { olderThanDays } from './older-than.ts'

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
