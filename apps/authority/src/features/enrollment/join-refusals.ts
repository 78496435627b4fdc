import { Refusal } from '@chancery/contract'
import type { Call } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { EnrollmentParts } from './parts.ts'
import type { EvidenceJoinRequest, JoinRequest } from './requests.ts'

export async function refuseCompromised(
  call: Call,
  parts: EnrollmentParts,
  request: Pick<JoinRequest, 'node_public_key'>,
  prior_cert_id: string | null,
): Promise<never> {
  const { node_public_key } = request
  const details = { reason: 'node_key_compromised', node_public_key, prior_cert_id, ...requestDetails(call) }
  // Always stored: a new attempt with a compromised key is the first sign of an attacker.
  await parts.database.write((tx) => parts.audit.record(tx, { type: 'join_rejected', details }))
  throw new Refusal('node_key_compromised')
}

/** A platform gives evidence without a person, so evidence does not admit a key that an operator revoked. */
export async function refuseRevoked(
  call: Call,
  parts: EnrollmentParts,
  { node_public_key, evidence }: EvidenceJoinRequest,
): Promise<never> {
  const details = { reason: 'node_key_revoked', node_public_key, rule_id: evidence.rule_id, ...requestDetails(call) }
  await parts.audit.recordRefusal({ type: 'join_rejected', details }, call)
  const message =
    'A certificate of this node key was revoked, so evidence does not admit it. Use a new key or an invite.'
  throw new Refusal('node_key_revoked', {}, { message })
}

/** Root, authority and operator keys must not be node keys. */
export function reservedKeys(parts: EnrollmentParts): ReadonlySet<string> {
  return new Set([
    parts.network.genesis.root_public_key,
    parts.signing.publicKey,
    ...[...parts.operators.values()].map((key) => key.publicKey),
  ])
}
