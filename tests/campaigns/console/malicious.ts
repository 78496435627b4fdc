import { sharedBrowser } from '../../console/browser.ts'
import { openFrameSetup } from '../../console/frame-setup.ts'
import { emptyFields, visitMalicious } from '../../console/visit-malicious.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'

export const summary =
  'malicious texts in every stored field, shown on every page: none runs, none breaks the layout, no policy report'
export const defaultCount = 5000

const UNLIMITED = { NA_RATE_LIMIT_PUBLIC_PER_MINUTE: '0', NA_RATE_LIMIT_ADMIN_PER_MINUTE: '1000000000' }

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const setup = await openFrameSetup(UNLIMITED, 0)
  try {
    const { problems: found, stored } = await visitMalicious(setup, count, seed)
    const problems = [...emptyFields(stored).map((field) => `${field}: no text was stored`), ...found]
    log(JSON.stringify(stored))
    for (const problem of problems.slice(0, 40)) log(problem.slice(0, 400))
    return { cases: count, violations: problems.length }
  } finally {
    await setup.close()
    await (await sharedBrowser()).close()
  }
}
