import type { Campaign, CampaignOptions, CampaignResult } from './lib/campaign.ts'
import { run as runFleet } from './fleet/million-nodes.ts'
import { runRaces } from './faults/races.ts'

export const summary = 'runs before each merge: races, replay, clock, restore and a fleet, with small counts'
export const defaultCount = 1

/** Small counts. All other campaigns run in `npm run check:nightly`. */
const CASES: readonly (readonly [string, number, () => Promise<Pick<Campaign, 'run'>>])[] = [
  // Ten callers, fifty rounds.
  ['races', 50, async () => ({ run: (options) => runRaces({ ...options, callers: 10 }) })],
  ['replay', 200, () => import('./faults/replay.ts')],
  // Every clock pattern with every check.
  ['clock', 720, () => import('./clock/clock.ts')],
  ['restore', 3, () => import('./faults/restore.ts')],
  ['million-nodes', 200, async () => ({ run: (options) => runFleet({ ...options, minutes: 1 / 12, pace: 10 }) })],
]

export async function run(options: CampaignOptions): Promise<CampaignResult> {
  let [cases, violations] = [0, 0]
  for (let repeat = 0; repeat < options.count; repeat += 1) {
    for (const [name, count, load] of CASES) {
      const started = performance.now()
      const log = (line: string): void => {
        if (line.startsWith('violation')) options.log(`${name}: ${line}`)
      }
      const result = await (await load()).run({ count, seed: options.seed + repeat, log })
      const seconds = ((performance.now() - started) / 1000).toFixed(0)
      options.log(`${name}: ${result.cases} cases, ${result.violations} violations, ${seconds} s`)
      cases += result.cases
      violations += result.violations
    }
  }
  return { cases, violations }
}
