import { type PresentedBasis, assessPresented } from '@chancery/protocol'
import { toWireTime } from '../../requests/list-position.ts'
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
  const [own, policy, { max_feed_age_seconds, contact_at }, state] = await Promise.all([
    parts.attestations.reader.find(attestation_id),
    parts.recognitionPolicy.current(),
    parts.partners.freshness(issuer),
    parts.revocationFeeds.issuerStates.read(issuer, attestation_id),
  ])
  const { foreignFeedMaxAgeSeconds, partnerContactMaxAgeSeconds: maxAgeSeconds } = parts.settings
  return assessPresented({
    attestation,
    isOwnId: own !== undefined,
    treaties,
    isRevoked: state.isListed || policy?.revokedIds.has(attestation_id) === true,
    requester,
    revocationSequence: state.sequence,
    feed: state.feed,
    maxFeedAgeSeconds: max_feed_age_seconds ?? foreignFeedMaxAgeSeconds,
    contact: maxAgeSeconds === 0 ? undefined : { at: latest(contact_at, state.seen_at), maxAgeSeconds },
    now: parts.clock.now(),
  })
}

/** A pull that imports the feed is a contact, and so is an import by an operator. Both are sortable texts. */
function latest(pulled: string | null, imported: string | null): string | null {
  const at = (pulled ?? '') > (imported ?? '') ? pulled : imported
  return toWireTime(at)
}
