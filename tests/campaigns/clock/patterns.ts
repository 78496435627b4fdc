import { DAY, type Instant, hours, seconds } from '@chancery/protocol'
import type { Random } from '../lib/random.ts'

/** A clock pattern: true time passes, and an administrator or a fault moves the wall clock. */
export interface Move {
  readonly passes: Instant
  /** Moves the wall clock only. The monotonic clock does not change. */
  readonly steps: Instant
}

export interface Pattern {
  readonly name: string
  /** Time of the clock when the test data is created. */
  readonly start: string
  moves(random: Random): readonly Move[]
}

const MIDDAY = '2026-03-10T12:34:56.789Z'
const STEPS = 16

const pass = (passes: Instant): Move => ({ passes, steps: 0n })
const step = (steps: Instant): Move => ({ passes: 0n, steps })
/** A bound is met exactly, or missed by one microsecond to one second. */
const hair = (random: Random): Instant => random.pick([1n, 1000n, seconds(1), BigInt(1 + random.below(1_000_000))])
const between = (random: Random, least: number, most: number): Instant =>
  BigInt(Math.round(least * 1_000_000) + random.below(Math.round((most - least) * 1_000_000)))
const pattern = (name: string, moves: Pattern['moves'], start = MIDDAY): Pattern => ({ name, start, moves })

/**
 * Clock patterns between the creation of a record and its verification. The sizes are the bounds of the protocol: five
 * minutes of tolerance, fifteen of grace, twelve hours before a list ends, its day, the window of the genesis block.
 */
export const PATTERNS: readonly Pattern[] = [
  pattern('steady', () => [pass(0n), pass(0n)]),
  pattern('stuck while two hours pass', () =>
    Array.from({ length: 4 }, () => ({ passes: seconds(1800), steps: -seconds(1800) })),
  ),
  pattern('a second ahead', (random) => [step(between(random, 0.2, 1.5))]),
  pattern('some seconds forwards', (random) => [step(between(random, 6, 25))]),
  pattern('half a minute forwards', (random) => [step(between(random, 31, 90))]),
  pattern('a hair less than five minutes', (random) => [pass(seconds(300) - hair(random))]),
  pattern('five minutes to the microsecond', () => [pass(seconds(100)), pass(seconds(200))]),
  pattern('a hair over five minutes forwards', (random) => [step(seconds(300) + hair(random))]),
  // One minute more is the longest time a superseded certificate may wait for its list.
  pattern('a hair over the grace time', (random) => [
    pass(seconds(900) - 1n),
    pass(hair(random) + 1n),
    pass(seconds(60)),
  ]),
  pattern('a hair less than an hour', (random) => [pass(hours(1) - hair(random))]),
  pattern('a hair over an hour forwards', (random) => [step(hours(1) + hair(random))]),
  pattern('the margin of the list', (random) => [pass(hours(12) - hair(random)), pass(seconds(3))]),
  pattern('thirteen hours forwards', (random) => [step(hours(13) + hair(random))]),
  pattern('a hair less than a day', (random) => [pass(DAY - hair(random))]),
  pattern('a hair over a day', (random) => [pass(hours(12)), pass(hours(12) + hair(random))]),
  pattern('a quarter of a year', (random) => [pass(40n * DAY), pass(50n * DAY + between(random, 0, 86_400))]),
  pattern('some seconds back', (random) => [step(-between(random, 6, 25))]),
  pattern('a hair less than five minutes back', (random) => [step(-seconds(300) + hair(random))]),
  pattern('a hair over five minutes back', (random) => [step(-seconds(300) - hair(random))]),
  pattern('an hour back', (random) => [pass(seconds(30)), step(-between(random, 3600, 7200))]),
  pattern('over a day back', (random) => [step(-DAY - hair(random) - between(random, 0, 86_400))]),
  // Far enough that all test data has expired by the wrong clock, and none by the correct one.
  pattern('weeks forwards and back again', (random) => [
    step(40n * DAY),
    { passes: seconds(40), steps: -40n * DAY },
    pass(between(random, 1, 100)),
  ]),
  pattern('half a day back and forwards again', (random) => [
    step(-hours(13)),
    { passes: seconds(60), steps: hours(13) },
    pass(between(random, 1, 600)),
  ]),
  // Crosses the end of a day, a month and a year in small steps in both directions.
  pattern(
    'drift over the turn of the year',
    (random) =>
      Array.from({ length: STEPS }, (_, i) => ({
        passes: between(random, 1, 45),
        steps: i % 3 === 0 ? -between(random, 0, 4) : between(random, 0, 3),
      })),
    '2027-12-31T23:55:00.5Z',
  ),
]
