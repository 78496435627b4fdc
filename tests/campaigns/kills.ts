import type { CampaignOptions, CampaignResult } from './campaign.ts'
import { run as runEnrollment } from './enrollment-kills.ts'
import { run as runEvidence } from './evidence-kills.ts'

export const summary = 'kill -9 of a service at every named point, half of them in enrollment, half in evidence'
export const defaultCount = 100

export async function run(options: CampaignOptions): Promise<CampaignResult> {
  const half = Math.ceil(options.count / 2)
  const enrollment = await runEnrollment({ ...options, count: half })
  if (options.count === half) return enrollment
  const evidence = await runEvidence({ ...options, count: options.count - half })
  return { cases: options.count, violations: enrollment.violations + evidence.violations }
}
