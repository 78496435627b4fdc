import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { runParts } from '../lib/parts.ts'
import { run as runNodes } from './many-nodes.ts'
import { run as runList } from './revocation-list.ts'
import { run as runMap } from './treaty-map.ts'

export const summary =
  'one authority with very much data: --case list (of revocations), map (of treaties) or nodes, within bounds of time'
/** 104,000 entries of a list, 195,000 treaties and 1,001,000 certificates. */
export const defaultCount = 1_300_000

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runParts(options, [
    { name: 'list', percent: 8, run: runList },
    { name: 'map', percent: 15, run: runMap },
    { name: 'nodes', percent: 77, run: runNodes },
  ])
}
