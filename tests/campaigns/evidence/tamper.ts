import { type CampaignOptions, type CampaignResult, runParts } from '../lib/campaign.ts'
import { run as runPolicies } from '../trust/policy-tamper.ts'
import { run as runArchives } from './archive-tamper.ts'
import { run as runPacks } from './pack-tamper.ts'
import { run as runStores } from './store-tamper.ts'

export const summary =
  'stored and exported evidence, archives, packs and policies changed (--case store, archive, pack or policy): all detected'
export const defaultCount = 230_000

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runParts(options, [
    { name: 'store', percent: 43, run: runStores },
    { name: 'archive', percent: 4, run: runArchives },
    { name: 'pack', percent: 43, run: runPacks },
    { name: 'policy', percent: 10, run: runPolicies },
  ])
}
