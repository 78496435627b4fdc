import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { runParts } from '../lib/parts.ts'
import { run as runTexts } from './hostile-texts.ts'
import { run as runPayloads } from './payloads.ts'

export const summary =
  'scripts and malicious texts in every stored field, shown on every page (--case texts or payloads): none runs, no policy report'
export const defaultCount = 10_000

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runParts(options, [
    { name: 'texts', percent: 50, run: runTexts },
    { name: 'payloads', percent: 50, run: runPayloads },
  ])
}
