import { startTestAuthority } from '@chancery/testkit'
import { openBrowser } from '../../console/browser.ts'
import { SAFE_NETWORK, seedPayloads, visitPayloads } from '../../console/payloads.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'

/**
 * Script payloads in every field a page shows: none runs, and the content policy reports nothing.
 * Every case is a payload in about ten fields. The seed is the number of the first payload.
 */
export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const na = await startTestAuthority({ network: SAFE_NETWORK, settings: { NA_RATE_LIMIT_PUBLIC_PER_MINUTE: '0' } })
  const browser = await openBrowser()
  try {
    await seedPayloads(na, count, seed)
    const problems = await visitPayloads(na, browser, count, seed)
    for (const problem of problems.slice(0, 20)) log(problem)
    return { cases: count, violations: problems.length }
  } finally {
    await browser.close()
    await na.stop()
  }
}
