import { DAY, HOUR, readInstant, writeInstant } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { treatyChart } from './treaty-chart.ts'
import type { DashboardView } from './feeds.ts'

const NOW = readInstant('2026-01-02T03:04:05Z') ?? 0n

function ending(inTime: bigint, lifecycle_state: 'active' | 'expiring_soon' | 'expired' | 'revoked') {
  // Only the members that the chart reads.
  return { expires_at: writeInstant(NOW + inTime), lifecycle_state } as DashboardView['treaties'][number]
}

describe('treatyChart', () => {
  it('counts treaties in force by the day they end, in the colour of their risk', () => {
    const text = treatyChart(
      [
        ending(2n * HOUR, 'expiring_soon'),
        ending(3n * HOUR, 'expiring_soon'),
        ending(70n * HOUR, 'expiring_soon'),
        ending(10n * DAY, 'active'),
        ending(90n * DAY, 'active'),
        ending(-1n * HOUR, 'expired'),
        ending(10n * DAY, 'revoked'),
      ],
      NOW,
    ).text
    expect(text).toContain('within a day: 2, within three days: 3, within thirty days: 4, later: 1.')
    expect([...text.matchAll(/bar-(\w+)/g)].map((match) => match[1])).toEqual(['urgent', 'watch', 'good'])
  })

  it('states that no treaty is in force', () => {
    expect(treatyChart([ending(-1n * HOUR, 'expired')], NOW).text).toContain('No treaty is in force.')
  })
})
