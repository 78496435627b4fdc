import { run as failOver } from '../faults/failover.ts'
import { upgradeFromLastRelease } from '../faults/rolling-instances.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import type { Random } from '../lib/random.ts'
import type { OperateCase } from './tools.ts'

/** Two instances of the last release under load, replaced one after the other by this one: no request fails. */
export const upgradedUnderLoad: OperateCase = {
  name: 'upgrade from the last release under load',
  run: (random, log) => violationsOf(upgradeFromLastRelease, { count: 1, random, log }),
}

/** The old primary is killed, cut off, and killed after its standby could confirm nothing. */
export const promotedStandby: OperateCase = {
  name: 'promotion of a synchronous standby',
  run: (random, log) => violationsOf(failOver, { count: 3, random, log }),
}

/** Runs a campaign as one case. Its violations are lines of its log. */
async function violationsOf(
  run: (options: CampaignOptions) => Promise<CampaignResult>,
  { count, random, log }: Pick<CampaignOptions, 'count' | 'log'> & { readonly random: Random },
): Promise<readonly string[]> {
  const found: string[] = []
  const keep = (line: string): void => {
    if (line.startsWith('violation: ')) found.push(line.slice('violation: '.length))
    else log(line)
  }
  const { violations } = await run({ count, seed: random.below(2 ** 32), log: keep })
  // A campaign shows only the first ones.
  const more = violations - found.length
  return more > 0 ? [...found, `${more} more violations`] : found
}
