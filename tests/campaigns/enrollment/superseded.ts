import { HOUR, SECOND } from '@chancery/protocol'
import { renewalTime } from '../../../packages/sdk/src/node/schedule.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'

export const summary = 'superseded entries that the renewals of a fleet cause, and the outage that every node survives'
/** Nodes. */
export const defaultCount = 1_000_000

const MOST_ENTRIES = 10_000
const LEAST_OUTAGE_HOURS = 48
/** A renewed certificate is listed when more than this is left at the end of its grace time (protocol/core 9.2). */
const LISTED_ABOVE = 24n * HOUR
/** An entry leaves the list this long after its certificate ended. */
const LISTED_AFTER_END = HOUR

interface Times {
  readonly validityHours: number
  readonly renewBeforeHours: number
  readonly graceSeconds: number
  /** The page on capacity says that both can be had with these times. */
  readonly isBoth?: true
}

const CASES: readonly Times[] = [
  { validityHours: 24, renewBeforeHours: 24, graceSeconds: 900 },
  { validityHours: 168, renewBeforeHours: 24, graceSeconds: 900 },
  { validityHours: 168, renewBeforeHours: 50, graceSeconds: 900 },
  { validityHours: 168, renewBeforeHours: 50, graceSeconds: 97_200, isBoth: true },
  { validityHours: 720, renewBeforeHours: 50, graceSeconds: 900 },
  { validityHours: 8760, renewBeforeHours: 50, graceSeconds: 900 },
]

/** Entries of 1,000,000 nodes are counted from this many of them. */
const SAMPLE = 100_000

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  let violations = 0
  for (const times of CASES) {
    const random = seededRandom(seed)
    const sample = Math.min(count, SAMPLE)
    let [listed, outage] = [0, Infinity]
    for (let node = 0; node < sample; node += 1) {
      const found = followNode(times, random)
      listed += found.listed
      outage = Math.min(outage, found.outageHours)
    }
    const entries = Math.round((listed * count) / sample)
    const { validityHours, renewBeforeHours, graceSeconds } = times
    log(
      `certificates of ${validityHours} h, renewed ${renewBeforeHours} h before the end, grace ${graceSeconds} s: ` +
        `${entries} superseded entries, every node survives an outage of ${outage.toFixed(1)} h`,
    )
    if (times.isBoth === true && (entries >= MOST_ENTRIES * (count / defaultCount) || outage < LEAST_OUTAGE_HOURS)) {
      violations += 1
      log('violation: the chosen times do not keep both')
    }
  }
  return { cases: CASES.length, violations }
}

/** One node over some lifetimes: its superseded certificates that are listed at the end, and its shortest reserve. */
function followNode(times: Times, random: Random): { readonly listed: number; readonly outageHours: number } {
  const life = BigInt(times.validityHours) * HOUR
  const end = 4n * life
  let issuedAt = (life * BigInt(random.below(1_000_000))) / 1_000_000n
  let [listed, outageHours] = [0, Infinity]
  for (;;) {
    const expiresAt = issuedAt + life
    const renewed = renewalTime({ issuedAt, expiresAt }, random.next() / 2 ** 32, times.renewBeforeHours)
    outageHours = Math.min(outageHours, Number(expiresAt - renewed) / Number(HOUR))
    if (renewed > end) return { listed, outageHours }
    const matured = renewed + BigInt(times.graceSeconds) * SECOND
    const isListed = expiresAt - matured > LISTED_ABOVE
    if (isListed && matured <= end && end < expiresAt + LISTED_AFTER_END) listed += 1
    issuedAt = renewed
  }
}
