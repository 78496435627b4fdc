import type { AgreementRecord } from '../artifacts/capability-offer.ts'
import { VALID, type Verdict, invalid } from '../artifacts/verdict.ts'
import { instantOf } from '../reading/text.ts'
import { type Received, checkReceivedForm, receivedBytes } from '../signing/received.ts'
import { verifyAny } from '../signing/verify-any.ts'

export type AgreementReason =
  | 'missing_offerer_signature'
  | 'invalid_offerer_signature'
  | 'missing_responder_signature'
  | 'invalid_responder_signature'
  | 'graph_digest_mismatch'
  | 'unknown_field'
  | 'non_canonical_form'
  | 'terms_mismatch'

/**
 * protocol/trust-operations 3.9, in this order:
 * 1. signed at all; 2. by the offerer, 3. 4. and by the responder: one side alone agrees on nothing;
 * 5. made over the expected graph, where the caller expects one;
 * 6. 7. signed in exactly this form;
 * 8. the unprotected `expires_at` repeats the signed limit: its reader must not get more time.
 */
export async function verifyAgreement(
  agreement: Received<AgreementRecord>,
  against: {
    readonly offererKeys: readonly string[]
    readonly responderKeys: readonly string[]
    readonly expectedGraphDigest?: string | undefined
  },
): Promise<Verdict<AgreementReason>> {
  const { signatures, graph_digest, agreed_terms, expires_at } = agreement.record
  if (signatures.length === 0) return invalid('missing_offerer_signature')
  const message = receivedBytes(agreement)
  // The offerer signs last, so its signature is looked for from the end: a guess that only saves time.
  if (!(await verifyAny(message, signatures.toReversed(), against.offererKeys)))
    return invalid('invalid_offerer_signature')
  if (!(await verifyAny(message, signatures, against.responderKeys)))
    return invalid(signatures.length < 2 ? 'missing_responder_signature' : 'invalid_responder_signature')
  const { expectedGraphDigest } = against
  if (expectedGraphDigest !== undefined && expectedGraphDigest !== graph_digest) return invalid('graph_digest_mismatch')
  const form = checkReceivedForm(agreement)
  if (!form.ok) return form
  return instantOf(expires_at) === instantOf(agreed_terms.valid_until) ? VALID : invalid('terms_mismatch')
}

export type TwoPartyReason = AgreementReason | 'same_party' | 'overlapping_party_keys'

/**
 * The same for a verifier without an authority: two parties, known by different keys. A key that counts for both would
 * let one party sign in the name of the other.
 */
export async function verifyTwoParties(
  agreement: Received<AgreementRecord>,
  against: Parameters<typeof verifyAgreement>[1],
): Promise<Verdict<TwoPartyReason>> {
  const { offerer_sovereign_id, responder_sovereign_id } = agreement.record
  if (offerer_sovereign_id === responder_sovereign_id) return invalid('same_party')
  if (against.offererKeys.some((key) => against.responderKeys.includes(key))) return invalid('overlapping_party_keys')
  return verifyAgreement(agreement, against)
}

/** Keys that may sign for a sovereign, and whether a treaty confirms it (protocol/trust-operations 3.5). */
export interface PartyKeys {
  readonly keys: readonly string[]
  readonly hasTreaty: boolean
}

export type Party = 'offerer' | 'responder'
export type UntrustedReason = 'unknown_party' | TwoPartyReason
export type AgreementTrust =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: UntrustedReason; readonly party?: Party }

/**
 * Checks whether the authority may trust a presented agreement (protocol/trust-operations 3.10), in this order:
 * 1. the two parties differ: otherwise one party signs for both;
 * 2. issued by this authority for a party it recognises: its own signature stands for both;
 * 3. 4. otherwise both are known; 5. by different keys: one holder must not sign for both;
 * 6. and both signed.
 */
export async function trustAgreement(
  agreement: Received<AgreementRecord>,
  against: {
    readonly own: { readonly sovereign_id: string; readonly keys: readonly string[] }
    readonly offerer: PartyKeys
    readonly responder: PartyKeys
  },
): Promise<AgreementTrust> {
  const { own, offerer, responder } = against
  const { offerer_sovereign_id, responder_sovereign_id, signatures } = agreement.record
  if (offerer_sovereign_id === responder_sovereign_id) return { ok: false, reason: 'same_party', party: 'responder' }
  const isOwnOffer = offerer_sovereign_id === own.sovereign_id && responder.hasTreaty
  if (isOwnOffer && (await verifyAny(receivedBytes(agreement), signatures, own.keys)))
    return verifyAgreement(agreement, { offererKeys: own.keys, responderKeys: own.keys })
  if (offerer.keys.length === 0) return { ok: false, reason: 'unknown_party', party: 'offerer' }
  if (responder.keys.length === 0) return { ok: false, reason: 'unknown_party', party: 'responder' }
  return verifyTwoParties(agreement, { offererKeys: offerer.keys, responderKeys: responder.keys })
}
