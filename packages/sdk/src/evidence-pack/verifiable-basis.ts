import {
  agreementRecordForm,
  asJson,
  readAttestation,
  readReceived,
  receivedBytes,
  signedBytes,
  verifyAny,
} from '@chancery/protocol'
import type { AuthorityKeys, JsonValue, Signature } from '@chancery/protocol'
import { attestationKeys, partyKeys, tryRead } from './check-basis.ts'
import type { EvidencePack } from './format.ts'

/**
 * The basis with the signatures that keys of the pack verify. Others prove nothing to its reader, and are left out. An
 * agreement without such a signature is left out, because the decision names it by its id only. An own attestation
 * without one is left out too, because its authority signs every attestation.
 */
export async function verifiableBasis(
  pack: Pick<EvidencePack, 'treaty' | 'attestation' | 'agreement'>,
  keys: AuthorityKeys,
): Promise<Pick<EvidencePack, 'attestation' | 'agreement'>> {
  const attestation = tryRead(readAttestation, pack.attestation)
  const agreement = tryRead((value) => readReceived(agreementRecordForm, value), pack.agreement)
  const keep = async (found: readonly Signature[], message: Uint8Array, signers: readonly string[]) => {
    const results = await Promise.all(found.map((each) => verifyAny(message, [each], signers)))
    return found.filter((_, at) => results[at]) as unknown as JsonValue
  }
  if (attestation !== undefined && pack.attestation !== null) {
    const message = signedBytes(asJson(attestation), 'signatures')
    const signatures = await keep(attestation.signatures, message, attestationKeys(pack, attestation, keys))
    const isOwn = attestation.issuer_sovereign_id === keys.genesis.network_name
    const isUnsigned = Array.isArray(signatures) && signatures.length === 0
    return {
      attestation: isOwn && isUnsigned ? null : { ...pack.attestation, signatures },
      agreement: pack.agreement,
    }
  }
  if (agreement === undefined || pack.agreement === null) return pack
  const { offerer_sovereign_id, responder_sovereign_id } = agreement.record
  const known = [offerer_sovereign_id, responder_sovereign_id].flatMap((party) => partyKeys(pack, keys)(party).keys)
  const signatures = await keep(agreement.record.signatures, receivedBytes(agreement), known)
  const isSigned = Array.isArray(signatures) && signatures.length > 0
  return { attestation: pack.attestation, agreement: isSigned ? { ...pack.agreement, signatures } : null }
}
