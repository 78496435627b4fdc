import type { Campaign, CampaignOptions, CampaignResult } from './campaign.ts'
import { runCatalogue } from './races.ts'

export const summary = 'what runs on each change: the races and faults of the test catalogue, in their small counts'
export const defaultCount = 1

/** Enough to see a broken promise, few enough for each change. Mutations, fuzz and soak are campaigns of their own. */
const CASES: readonly (readonly [string, number, () => Promise<Pick<Campaign, 'run'>>])[] = [
  // Ten callers, fifty rounds.
  ['races', 50, async () => ({ run: (options) => runCatalogue({ ...options, callers: 10 }) })],
  ['replay', 200, () => import('./replay.ts')],
  ['kills', 100, () => import('./kills.ts')],
  ['outside-reader', 5, () => import('./outside-reader.ts')],
  ['database-kills', 5, () => import('./database-kills.ts')],
  ['failover', 2, () => import('./failover.ts')],
  // Five partitions; every third case cuts connections during COMMIT.
  ['partition', 15, () => import('./partition.ts')],
  ['paused-lease', 5, () => import('./paused-lease.ts')],
  // Every clock pattern with every check.
  ['clock', 720, () => import('./clock.ts')],
  ['restore', 3, () => import('./restore.ts')],
  ['redis', 9, () => import('./redis.ts')],
  ['rolling', 2, () => import('./rolling.ts')],
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
