import { readAttestation, readRecognitionTreaty, toRecognizedIssuer, verifyAttestation } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { AttestationsParts } from './parts.ts'
import { readKeyList, readOrRefuse } from '../../requests/read-fields.ts'
import { recordVerification } from '../../requests/record-verification.ts'
import { countsHere } from '../recognition-treaties/index.ts'
import { isRevokedByIssuer } from './verify.ts'

/**
 * POST /attestations/verify-with-treaty
 * Verifies a member of a partner network under one direct treaty: an own one, or one whose issuer keys the caller
 * sends. In the second case the verdict is the caller's and `counts_here` is false. Writes nothing.
 */
export async function verifyWithTreaty(call: Call, parts: AttestationsParts): Promise<JsonObject> {
  const { attestation, treaty } = readOrRefuse('invalid_attestation_or_treaty', () => ({
    attestation: readAttestation(call.body['attestation'] ?? null),
    treaty: readRecognitionTreaty(call.body['treaty'] ?? null),
  }))
  const supplied = readKeyList(call.body['treaty_issuer_public_keys'])
  const expected = { issuer: undefined, subject: attestation.issuer_sovereign_id }
  const { verdict: stored, trust_basis } = await parts.recognitionTreaties.verifyPostedTreaty(
    treaty,
    call.body['treaty'] ?? null,
    supplied,
    'admission',
    expected,
  )
  const reason = stored.ok ? await verifyMember() : `treaty_${stored.reason}`
  recordVerification(call, parts, reason === 'accepted', reason)
  return {
    accepted: reason === 'accepted',
    reason,
    trust_basis,
    counts_here: countsHere(reason === 'accepted', trust_basis),
    treaty_id: treaty.treaty_id,
    attestation_id: attestation.attestation_id,
    issuer_sovereign_id: treaty.issuer_sovereign_id,
    subject_sovereign_id: treaty.subject_sovereign_id,
  }

  async function verifyMember(): Promise<string> {
    const isRevoked = await isRevokedByIssuer(parts, attestation)
    const verdict = await verifyAttestation(attestation, {
      issuer: toRecognizedIssuer(treaty),
      isRevoked,
      now: parts.clock.now(),
    })
    return verdict.ok ? 'accepted' : `attestation_${verdict.reason}`
  }
}
