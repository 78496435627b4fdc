import { startTestAuthority } from '@chancery/testkit'
import { openBrowser, sharedBrowser } from '../../console/browser.ts'
import { untested, visitMalicious } from '../../console/malicious/visit.ts'
import { SAFE_NETWORK, seedPayloads, visitPayloads } from '../../console/payloads.ts'
import { type CampaignOptions, type CampaignResult, conclude, runParts } from '../lib/campaign.ts'

/** Malicious texts in every stored field, shown on every page: none runs, none breaks the layout, no policy report. */
async function runTexts({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  let logged = 0
  try {
    const visited = await visitMalicious(count, seed, 'all', (texts, { problems }) => {
      for (const problem of problems.slice(logged, logged + 40)) log(problem.slice(0, 400))
      logged = problems.length
      log(`${texts} texts, ${problems.length} problems`)
    })
    log(JSON.stringify(visited.stored))
    log(JSON.stringify(visited.shown))
    const missed = untested(visited)
    for (const each of missed) log(each)
    return { cases: count, violations: visited.problems.length + missed.length }
  } finally {
    await (await sharedBrowser()).close()
  }
}

/**
 * Script payloads in every field a page shows: none runs, and the content policy reports nothing.
 * Every case is a payload in about ten fields. The seed is the number of the first payload.
 */
async function runPayloads({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const na = await startTestAuthority({ network: SAFE_NETWORK, settings: { NA_RATE_LIMIT_PUBLIC_PER_MINUTE: '0' } })
  const browser = await openBrowser()
  try {
    await seedPayloads(na, count, seed)
    const problems = await visitPayloads(na, browser, count, seed)
    return conclude(log, count, problems)
  } finally {
    await browser.close()
    await na.stop()
  }
}

export const summary =
  'scripts and malicious texts in every stored field, shown on every page (--case texts or payloads): none runs, no policy report'
export const defaultCount = 10_000

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runParts(options, [
    { name: 'texts', percent: 50, run: runTexts },
    { name: 'payloads', percent: 50, run: runPayloads },
  ])
}
