import type { Backend } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import type { Check, Compare, Trial } from './check.ts'
import { CHECKS } from './checks.ts'
import { PATTERNS } from './patterns.ts'
import type { Pattern } from './patterns.ts'
import { openSetup, openWatched } from './setup.ts'
import type { Stage, CheckedAuthority } from './setup.ts'
import { startOwnServer } from '../lib/private-postgres.ts'
import type { OwnServer } from '../lib/private-postgres.ts'
import { seededRandom } from '../lib/random.ts'
import type { Random } from '../lib/random.ts'

export const summary = 'what clocks do (jumps, drift, standing still) against every rule in which time decides'
/** Number of patterns times number of checks. */
export const defaultCount = 720

interface ClockTrust {
  readonly server: OwnServer
  readonly watched: CheckedAuthority
  readonly log: (line: string) => void
  violations: number
}

/** One check in one pattern. */
interface ClockCase {
  readonly check: Check
  readonly problems: string[]
  trial?: Trial
}

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const server = await startOwnServer()
  try {
    const watched = await openWatched(server)
    try {
      const ground: ClockTrust = { server, watched, log, violations: 0 }
      await playRounds(ground, count, seed)
      return { cases: count, violations: ground.violations }
    } finally {
      await watched.na.stop()
    }
  } finally {
    await server.remove()
  }
}

/** The seed chooses the order of patterns and checks, the engines, and the jitter within each pattern. */
async function playRounds(ground: ClockTrust, count: number, seed: number): Promise<void> {
  for (let left = count, round = 0; left > 0; round += 1) {
    const random = seededRandom((seed + Math.imul(round, 0x9e3779b1)) >>> 0)
    for (const [index, pattern] of shuffled(random, PATTERNS).entries()) {
      const checks = shuffled(random, CHECKS).slice(0, left)
      if (checks.length === 0) return
      left -= checks.length
      await playPattern(ground, pattern, checks, (index + seed + round) % 2 === 0 ? 'sqlite' : 'postgres', random)
    }
  }
}

/** Creates all test data in one authority, moves the clock, and runs every check. */
async function playPattern(
  ground: ClockTrust,
  pattern: Pattern,
  checks: readonly Check[],
  backend: Backend,
  random: Random,
): Promise<void> {
  const stage = await openSetup(pattern, backend, random, ground.server, ground.watched)
  const cases = checks.map((check): ClockCase => ({ check, problems: [] }))
  try {
    for (const each of cases) await attempt(each, () => prepare(each, stage))
    for (const move of stage.moves) {
      await stage.move(move)
      for (const each of cases) await attempt(each, async () => each.trial?.atRest?.())
    }
    for (const each of cases) await attempt(each, async () => each.trial?.judge?.())
  } finally {
    await stage.close()
  }
  for (const { check, problems } of cases) {
    if (problems.length > 0) ground.violations += 1
    for (const problem of new Set(problems))
      ground.log(`violation: ${pattern.name} on ${backend} / ${check.name}: ${problem}`)
  }
}

async function prepare(each: ClockCase, stage: Stage): Promise<void> {
  const compare: Compare = (what, expected, got) => {
    if (expected !== got) each.problems.push(`${what}: expected ${String(expected)}, got ${String(got)}`)
  }
  each.trial = await each.check.prepare(stage, compare)
}

/** A check that throws is also a violation. */
async function attempt(each: ClockCase, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    each.problems.push(`expected an answer to compare, got ${error instanceof Error ? error.message : String(error)}`)
  }
}

function shuffled<Item>(random: Random, items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, place: random.next() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item)
}
