import { Refusal } from '@chancery/contract'
import { assessPresented, isJsonObject, isPlainText, readPresentedAttestation } from '@chancery/protocol'
import type { Attestation, JsonValue, PresentedBasis } from '@chancery/protocol'
import type { Core } from '../../core.ts'
import { readOrRefuse, refuseUnknownMembers } from '../../requests/read-fields.ts'
import { toWireTime } from '../../requests/list-position.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Attestations } from '../attestations/index.ts'
import type { Partners } from '../partners/index.ts'
import type { RecognitionPolicy } from '../recognition-policy/index.ts'
import type { RecognitionTreaties } from '../recognition-treaties/index.ts'
import type { RevocationFeeds } from '../revocation-feeds/index.ts'

/** What the assessment of an attestation of a partner reads. */
export interface PresentedParts extends Pick<Core, 'clock'> {
  readonly settings: Pick<AuthoritySettings, 'foreignFeedMaxAgeSeconds' | 'partnerContactMaxAgeSeconds'>
  readonly attestations: Pick<Attestations, 'reader'>
  readonly partners: Pick<Partners, 'freshness'>
  readonly recognitionPolicy: RecognitionPolicy
  readonly recognitionTreaties: RecognitionTreaties
  readonly revocationFeeds: RevocationFeeds
}

/** An attestation of a partner, as sent. Only its form was checked. */
export interface PresentedRequest {
  readonly attestation: Attestation
  readonly treaty_id: string | undefined
}

/** protocol/trust-operations 4.11. The issuer is named outside of the record, so that no caller relies on its text alone. */
export function readPresented(value: JsonValue, own: string): PresentedRequest {
  if (!isJsonObject(value)) throw new Refusal('invalid_attestation')
  refuseUnknownMembers(value, ['attestation', 'issuer_sovereign_id', 'treaty_id'])
  const attestation = readOrRefuse('invalid_attestation', () => readPresentedAttestation(value['attestation'] ?? null))
  const issuer = value['issuer_sovereign_id']
  if (issuer !== attestation.issuer_sovereign_id || issuer === own) throw new Refusal('wrong_issuer')
  const treaty_id = value['treaty_id'] ?? undefined
  if (treaty_id !== undefined && (typeof treaty_id !== 'string' || !isPlainText(treaty_id, 128)))
    throw new Refusal('invalid_input', { field: 'presented.treaty_id' })
  return { attestation, treaty_id }
}

export function readAttestationId(value: JsonValue): string {
  if (typeof value !== 'string' || !isPlainText(value, 128)) throw new Refusal('invalid_attestation_id')
  return value
}

/**
 * Assesses an attestation of a partner. Treaties come first and revocations last, so that a revocation that was stored
 * before the request is always seen.
 */
export async function loadPresented(
  parts: PresentedParts,
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
