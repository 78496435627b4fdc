import { verifySignature } from '@chancery/protocol'
import { BACKENDS } from '../../../packages/protocol/src/signing/backends.suite.ts'
import { checkWeakKeys } from '../../../packages/protocol/src/vectors/weak-keys.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'

export const summary = 'forged signatures under points of small order, refused by every backend (protocol/core 1.5)'
/** The matrix is fixed: count and seed do not change it. One part per backend. */
export const defaultCount = 12_544 * BACKENDS.length

export async function run({ log }: CampaignOptions): Promise<CampaignResult> {
  let cases = 0
  let violations = 0
  for (const backend of BACKENDS) {
    const result = await checkWeakKeys((key, message, signature) => verifySignature(key, message, signature, backend))
    log(`${backend.name}: ${result.accepted} of ${result.cases} accepted`)
    cases += result.cases
    violations += result.accepted
  }
  return { cases, violations }
}
