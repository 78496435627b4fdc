import { Refusal } from '@chancery/contract'
import { readAttestation, readRecognitionPolicy, verifyAttestation } from '@chancery/protocol'
import type { Attestation, JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { readOr } from '../../reading.ts'
import { noteVerdict } from '../verdicts.ts'
import { isImportedRevocation } from '../revocation-feeds/index.ts'
import { prepare } from '../recognition-policy/index.ts'
import type { ReadyPolicy } from '../recognition-policy/index.ts'
import { isOwnAttestationRevoked } from './store.ts'

/**
 * POST /attestations/verify
 * Whether an attestation is accepted under a recognition policy: the caller's, or this sovereign's own. Writes nothing.
 */
export async function verify(call: Call, office: Office): Promise<JsonObject> {
  const attestation = readOr('invalid_attestation_or_policy', () => readAttestation(call.body['attestation'] ?? null))
  const { policy, revokedIds } = await choosePolicy(call.body, office)
  const { issuer_sovereign_id, attestation_id } = attestation
  const issuer = policy.recognized_issuers.find((each) => each.sovereign_id === issuer_sovereign_id)
  const isRevoked = revokedIds.has(attestation_id) || (await isWithdrawn(office, attestation))
  const verdict = await verifyAttestation(attestation, { issuer, isRevoked, now: office.clock.now() })
  const reason = verdict.ok ? 'accepted' : verdict.reason
  noteVerdict(call, office, verdict.ok, reason)
  return { accepted: verdict.ok, reason, issuer_sovereign_id, attestation_id }
}

async function choosePolicy(body: JsonObject, office: Office): Promise<ReadyPolicy> {
  const given = body['recognition_policy']
  if (given !== undefined) return prepare(readOr('invalid_attestation_or_policy', () => readRecognitionPolicy(given)))
  const active = await office.recognitionPolicy.current(office)
  if (active === undefined) throw new Refusal('missing_recognition_policy')
  return active
}

/** Withdrawn by its issuer: in our own store when we issued it, through an imported feed otherwise. */
export async function isWithdrawn(office: Office, attestation: Attestation): Promise<boolean> {
  const { db } = office.store
  if (
    attestation.issuer_sovereign_id === office.genesis.network_name &&
    (await isOwnAttestationRevoked(db, attestation.attestation_id))
  )
    return true
  return isImportedRevocation(db, attestation.issuer_sovereign_id, attestation.attestation_id)
}
