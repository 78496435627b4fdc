import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import {
  differentRevocations,
  mixedReasons,
  renewAgainstRevoke,
  sameInvite,
  sameNonce,
} from '../enrollment/race-kinds.ts'
import { runTracks } from '../lib/one-winner.ts'
import { runPolicyRaces } from '../trust/policy-races.ts'
import {
  evidenceAppends,
  lastTwoKeys,
  retention,
  sameAgent,
  sameEvidencePosition,
  sameFeedSequence,
  sameIdempotencyKey,
} from '../trust/race-kinds.ts'

export const summary = 'rounds of every race of the catalogue on three instances: one winner, all served, or one end'
export const defaultCount = 10

const CALLERS = 50

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runCatalogue({ ...options, callers: CALLERS })
}

export async function runCatalogue(options: CampaignOptions & { readonly callers: number }): Promise<CampaignResult> {
  const races = [
    sameInvite,
    sameNonce,
    lastTwoKeys,
    sameFeedSequence,
    sameEvidencePosition,
    sameIdempotencyKey,
    differentRevocations,
    evidenceAppends,
    mixedReasons,
    renewAgainstRevoke,
    sameAgent,
  ]
  const tracks = await runTracks(options, races, [retention])
  // Publishes, activations and deactivations of one policy.
  const policies = await runPolicyRaces(options)
  return { cases: options.count, violations: tracks.violations + policies.violations }
}
