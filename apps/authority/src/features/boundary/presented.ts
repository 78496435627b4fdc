import { assessPresented } from '@chancery/protocol'
import type { PresentedBasis } from '@chancery/protocol'
import type { BoundaryParts } from './parts.ts'
import type { PresentedRequest } from './requests.ts'

/**
 * Assesses an attestation of a partner. Treaties come first and revocations last, so that a revocation that was stored
 * before the request is always seen.
 */
export async function loadPresented(
  parts: BoundaryParts,
  { attestation, treaty_id }: PresentedRequest,
  requester: string | undefined,
): Promise<PresentedBasis> {
  const { attestation_id, issuer_sovereign_id: issuer } = attestation
  const treaties = await parts.recognitionTreaties.findTreatiesWith(issuer, treaty_id)
  const [own, policy, maxFeedAge, state] = await Promise.all([
    parts.attestations.reader.find(attestation_id),
    parts.recognitionPolicy.current(),
    parts.partners.maxFeedAge(issuer),
    parts.revocationFeeds.issuerStates.read(issuer, attestation_id),
  ])
  return assessPresented({
    attestation,
    isOwnId: own !== undefined,
    treaties,
    isRevoked: state.isListed || policy?.revokedIds.has(attestation_id) === true,
    requester,
    revocationSequence: state.sequence,
    feed: state.feed,
    maxFeedAgeSeconds: maxFeedAge ?? parts.settings.foreignFeedMaxAgeSeconds,
    now: parts.clock.now(),
  })
}
