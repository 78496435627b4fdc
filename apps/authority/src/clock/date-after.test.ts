import { createLog } from '@chancery/service-kit'
import { ManualClock } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { dateAfter } from './date-after.ts'

/** Reliability 8. */
describe('the date of the next record of a sequence', () => {
  const lines: string[] = []
  const log = createLog({ level: 'info', format: 'json', destination: { write: (line) => void lines.push(line) } })
  const clock = new ManualClock()
  const now = clock.now()

  it.each([
    ['the first', undefined, now, 0],
    ['after an earlier one', now - 1n, now, 0],
    ['after one of the same moment', now, now, 0],
    ['after one that is ahead within the tolerance', now + 300_000_000n, now + 300_000_000n, 0],
    ['after one that is further ahead: an alarm, and still published', now + 300_000_001n, now + 300_000_001n, 1],
  ])('%s', (_what, previous, expected, alarms) => {
    lines.length = 0
    expect(dateAfter({ clock, log }, 'feed', previous)).toBe(expected)
    expect(lines.filter((line) => line.includes('"alarm":true') && line.includes('"head":"feed"'))).toHaveLength(alarms)
  })
})
