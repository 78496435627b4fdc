import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { restartGateways } from './rolling-gateways.ts'
import { restartInstances, upgradeFromLastRelease, upgradeToNextRelease } from './rolling-instances.ts'

export const summary =
  'authorities and gateways restarted one by one, and upgraded from the release before, under load: no request fails'
export const defaultCount = 3

const PARTS = [restartInstances, upgradeFromLastRelease, upgradeToNextRelease, restartGateways] as const

/** Each case stops and starts one process. `count` is the number of rounds; an upgrade is one round. */
export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  let [cases, violations] = [0, 0]
  for (const part of PARTS) {
    const result = await part({
      count,
      seed,
      log: (line) => log(line.startsWith('violation') ? line : `${part.name}: ${line}`),
    })
    cases += result.cases
    violations += result.violations
  }
  return { cases, violations }
}
