import { sharedBrowser } from '../../console/browser.ts'
import { untested, visitMalicious } from '../../console/malicious/visit.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'

/** Malicious texts in every stored field, shown on every page: none runs, none breaks the layout, no policy report. */
export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
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
