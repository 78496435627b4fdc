import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { runParts } from '../lib/parts.ts'
import { run as runCapabilities } from './capability-trees.ts'
import { run as runLog } from './checkpoints.ts'

export const summary =
  'trees of capabilities and of the evidence log (--case capabilities or log): as another implementation builds them, no forgery holds'
export const defaultCount = 100_000

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runParts(options, [
    { name: 'capabilities', percent: 99, run: runCapabilities },
    { name: 'log', percent: 1, run: runLog },
  ])
}
