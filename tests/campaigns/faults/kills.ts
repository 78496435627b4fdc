import { run as runEnrollment } from '../enrollment/kills.ts'
import { run as runEvidence } from '../evidence/kills.ts'
import { type CampaignOptions, type CampaignResult, runParts } from '../lib/campaign.ts'
import { run as runTransitions } from './transition-kills.ts'

export const summary =
  'kill -9 of an authority at every named point, in --case transition, enrollment or evidence: nothing acknowledged is lost'
/** Each part reaches every point on both engines. */
export const defaultCount = 400

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runParts(options, [
    { name: 'transition', percent: 44, run: runTransitions },
    { name: 'enrollment', percent: 24, run: runEnrollment },
    { name: 'evidence', percent: 32, run: runEvidence },
  ])
}
