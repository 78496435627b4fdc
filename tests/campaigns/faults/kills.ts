import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { run as runEnrollment } from '../enrollment/kills.ts'
import { run as runEvidence } from '../evidence/kills.ts'
import { run as runTransitions } from './transition-kills.ts'

export const summary = 'kill -9 of a service at every named point: under every kind of change, enrollment and evidence'
export const defaultCount = 100

/**
 * Shares of a hundred kills: each point of the three campaigns is reached once, and points under load on both engines.
 */
const PARTS = [
  { run: runTransitions, percent: 44 },
  { run: runEnrollment, percent: 24 },
  { run: runEvidence, percent: 32 },
] as const

export async function run(options: CampaignOptions): Promise<CampaignResult> {
  let [violations, left] = [0, options.count]
  for (const [index, part] of PARTS.entries()) {
    const share = Math.round((options.count * part.percent) / 100)
    const count = index === PARTS.length - 1 ? left : Math.min(left, share)
    left -= count
    if (count > 0) violations += (await part.run({ ...options, count })).violations
  }
  return { cases: options.count, violations }
}
