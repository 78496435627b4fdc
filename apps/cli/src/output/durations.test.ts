import { DAY, HOUR, MINUTE, SECOND } from '@chancery/protocol'
import { expect, it } from 'vitest'
import { describeSpan } from './durations.ts'

it.each([
  [0n, '0 s'],
  [59n * SECOND, '59 s'],
  [MINUTE, '1 min'],
  [HOUR, '1 h'],
  [HOUR + 5n * MINUTE, '1 h 5 min'],
  [DAY, '1 day'],
  [6n * DAY + 23n * HOUR + 59n * MINUTE, '6 days 23 h'],
])('%s µs are %s', (span, text) => {
  expect(describeSpan(span)).toBe(text)
})
