import { Refusal } from '@chancery/contract'
import { readAttestation, readRecognitionPolicy, verifyAttestation } from '@chancery/protocol'
import type { Attestation, JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { AttestationsParts } from './parts.ts'
import { readOrRefuse } from '../../requests/read-fields.ts'
import { recordVerification } from '../../requests/record-verification.ts'
import { isImportedRevocation } from '../revocation-feeds/index.ts'
import { type ReadyPolicy, prepare } from '../recognition-policy/index.ts'
import { isOwnAttestationRevoked } from './queries/attestations.ts'

/**
 * POST /attestations/verify
 * Verifies an attestation under a recognition policy: the caller's, or the active one. Writes nothing.
 */
export async function verify(call: Call, parts: AttestationsParts): Promise<JsonObject> {
  const attestation = readOrRefuse('invalid_attestation_or_policy', () =>
    readAttestation(call.body['attestation'] ?? null),
  )
  const { policy, revokedIds } = await choosePolicy(call.body, parts)
  const { issuer_sovereign_id, attestation_id } = attestation
  const issuer = policy.recognized_issuers.find((each) => each.sovereign_id === issuer_sovereign_id)
  const isRevoked = revokedIds.has(attestation_id) || (await isRevokedByIssuer(parts, attestation))
  const verdict = await verifyAttestation(attestation, { issuer, isRevoked, now: parts.clock.now() })
  const reason = verdict.ok ? 'accepted' : verdict.reason
  recordVerification(call, parts, verdict.ok, reason)
  return { accepted: verdict.ok, reason, issuer_sovereign_id, attestation_id }
}

async function choosePolicy(body: JsonObject, parts: AttestationsParts): Promise<ReadyPolicy> {
  const given = body['recognition_policy']
  if (given !== undefined)
    return prepare(readOrRefuse('invalid_attestation_or_policy', () => readRecognitionPolicy(given)))
  const active = await parts.recognitionPolicy.current()
  if (active === undefined) throw new Refusal('missing_recognition_policy')
  return active
}

/** Returns whether the issuer revoked it: from own rows for an own attestation, otherwise from an imported feed. */
export async function isRevokedByIssuer(parts: AttestationsParts, attestation: Attestation): Promise<boolean> {
  const db = parts.database.read
  if (
    attestation.issuer_sovereign_id === parts.network.name &&
    (await isOwnAttestationRevoked(db, attestation.attestation_id))
  )
    return true
  return isImportedRevocation(db, attestation.issuer_sovereign_id, attestation.attestation_id)
}
