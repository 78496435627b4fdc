import { run as runGateway } from '../gateway/kills.ts'
import { type CampaignOptions, type CampaignResult, runParts } from '../lib/campaign.ts'
import { run as runWorkers } from '../workers/kills.ts'

export const summary =
  'kill -9 of a gateway at named points, and of workers and supervisors (--case gateway or workers): nothing acknowledged is lost'
export const defaultCount = 140

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runParts(options, [
    { name: 'gateway', percent: 70, run: runGateway },
    { name: 'workers', percent: 30, run: runWorkers },
  ])
}
