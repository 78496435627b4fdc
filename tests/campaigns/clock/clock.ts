import type { Backend } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type OwnServer, startOwnServer } from '../lib/private-postgres.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { ACCESS_CHECKS, CLOCK_CHECK_CHECKS } from './access-checks.ts'
import { DATING_CHECKS } from './dating-checks.ts'
import { NODE_CHECKS } from './node-checks.ts'
import { type Pattern, PATTERNS } from './patterns.ts'
import { RECORD_CHECKS } from './record-checks.ts'
import { openSetup, openWatched } from './setup.ts'
import type { Check, CheckedAuthority, ClockSetup, Compare, RunningCheck } from './setup.ts'
import { TRUST_CHECKS } from './trust-checks.ts'

/** Every rule that depends on time. The checks are independent of each other. */
const CHECKS: readonly Check[] = [
  ...ACCESS_CHECKS,
  ...NODE_CHECKS,
  ...DATING_CHECKS,
  ...TRUST_CHECKS,
  ...RECORD_CHECKS,
  ...CLOCK_CHECK_CHECKS,
]

export const summary = 'what clocks do (jumps, drift, standing still) against every rule in which time decides'
/** Number of patterns times number of checks. */
export const defaultCount = 720

interface ClockCampaign {
  readonly server: OwnServer
  readonly watched: CheckedAuthority
  readonly log: (line: string) => void
  violations: number
}

/** One check in one pattern. */
interface ClockCase {
  readonly check: Check
  readonly problems: string[]
  running?: RunningCheck
}

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const server = await startOwnServer()
  try {
    const watched = await openWatched(server)
    try {
      const campaign: ClockCampaign = { server, watched, log, violations: 0 }
      await runRounds(campaign, count, seed)
      return { cases: count, violations: campaign.violations }
    } finally {
      await watched.na.stop()
    }
  } finally {
    await server.remove()
  }
}

/** The seed chooses the order of patterns and checks, the engines, and the jitter within each pattern. */
async function runRounds(campaign: ClockCampaign, count: number, seed: number): Promise<void> {
  for (let left = count, round = 0; left > 0; round += 1) {
    const random = seededRandom((seed + Math.imul(round, 0x9e3779b1)) >>> 0)
    for (const [index, pattern] of shuffled(random, PATTERNS).entries()) {
      const checks = shuffled(random, CHECKS).slice(0, left)
      if (checks.length === 0) return
      left -= checks.length
      await runPattern(campaign, pattern, checks, (index + seed + round) % 2 === 0 ? 'sqlite' : 'postgres', random)
    }
  }
}

/** Creates all test data in one authority, moves the clock, and runs every check. */
async function runPattern(
  campaign: ClockCampaign,
  pattern: Pattern,
  checks: readonly Check[],
  backend: Backend,
  random: Random,
): Promise<void> {
  const setup = await openSetup(pattern, backend, random, campaign.server, campaign.watched)
  const cases = checks.map((check): ClockCase => ({ check, problems: [] }))
  try {
    for (const each of cases) await attempt(each, () => prepare(each, setup))
    for (const move of setup.moves) {
      await setup.move(move)
      for (const each of cases) await attempt(each, async () => each.running?.atRest?.())
    }
    for (const each of cases) await attempt(each, async () => each.running?.verify?.())
  } finally {
    await setup.close()
  }
  for (const { check, problems } of cases) {
    if (problems.length > 0) campaign.violations += 1
    for (const problem of new Set(problems))
      campaign.log(`violation: ${pattern.name} on ${backend} / ${check.name}: ${problem}`)
  }
}

async function prepare(each: ClockCase, setup: ClockSetup): Promise<void> {
  const compare: Compare = (what, expected, got) => {
    if (expected !== got) each.problems.push(`${what}: expected ${String(expected)}, got ${String(got)}`)
  }
  each.running = await each.check.prepare(setup, compare)
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
