import { verifySignature } from '@chancery/protocol'
import { ed25519 as nodeBackend } from '../../packages/protocol/src/signing/platform-node.ts'
import { ed25519 as webBackend } from '../../packages/protocol/src/signing/platform-web.ts'
import { checkWeakKeys } from '../../packages/protocol/src/vectors/weak-keys.ts'
import type { CampaignOptions, CampaignResult } from './campaign.ts'

export const summary = 'forged signatures under points of small order, refused by both backends (protocol/core 1.5)'
/** The matrix is fixed: neither count nor seed changes it. */
export const defaultCount = 25_088

export async function run({ log }: CampaignOptions): Promise<CampaignResult> {
  let cases = 0
  let violations = 0
  for (const backend of [nodeBackend, webBackend]) {
    const result = await checkWeakKeys((key, message, signature) => verifySignature(key, message, signature, backend))
    log(`${backend.name}: ${result.accepted} of ${result.cases} accepted`)
    cases += result.cases
    violations += result.accepted
  }
  return { cases, violations }
}
