import {
  BOUNDARY_POLICY_FORM,
  FormError,
  digestOf,
  instantOf,
  policySetDigest,
  readAttestation,
  readReceived,
  receivedDigest,
  signersOf,
  verifyList,
  verifyReceived,
  verifyRecordOfKind,
} from '@chancery/protocol'
import type { AuthorityKeys, BoundaryDecision, BoundaryPolicy, JsonObject, Received } from '@chancery/protocol'
import { PASSED, failed } from './finding.ts'
import type { Finding } from './finding.ts'
import type { DecisionFile } from './format.ts'

const UNREAD: Finding = { missing: 'the decision cannot be read' }

/** Every applied policy is in the file, with the digest that the decision names and a signature of its authority. */
export async function checkPolicies(
  { policies }: DecisionFile,
  keys: AuthorityKeys,
  decision: BoundaryDecision | undefined,
): Promise<Finding> {
  if (decision === undefined) return UNREAD
  const binding = decision.policy_binding
  if (binding === undefined) return policies.length === 0 ? PASSED : failed('policy_not_applied')
  if (policySetDigest(binding.policies) !== binding.policy_set_digest) return failed('policy_set_digest_mismatch')
  const left = new Map(binding.policies.map((applied) => [applied.policy_id, applied]))
  for (const value of policies) {
    const policy = readPolicy(value)
    const applied = policy === undefined ? undefined : left.get(policy.record.policy_id)
    if (policy === undefined) return failed('policy_malformed')
    if (applied === undefined) return failed('policy_not_applied')
    const { version, signature } = policy.record
    const isSame = receivedDigest(policy) === applied.policy_digest && version === applied.version
    if (!isSame || signature?.key_id !== applied.signed_by) return failed('policy_digest_mismatch')
    const verdict = await verifyReceived(policy, signersOf(keys, policy.record))
    if (!verdict.ok) return failed(`policy_${verdict.reason}`)
    left.delete(applied.policy_id)
  }
  const [absent] = left.keys()
  return absent === undefined ? PASSED : { missing: `policy ${absent} is not in the file` }
}

function readPolicy(value: JsonObject): Received<BoundaryPolicy> | undefined {
  try {
    return readReceived(BOUNDARY_POLICY_FORM, value)
  } catch (error) {
    if (error instanceof FormError) return undefined
    throw error
  }
}

/** The attestation or agreement that the decision names. */
export async function checkBasis(
  { attestation, agreement, genesis, key_history }: DecisionFile,
  keys: AuthorityKeys,
  decision: BoundaryDecision | undefined,
): Promise<Finding> {
  if (decision === undefined) return UNREAD
  if (attestation !== null && agreement !== null) return failed('two_bases')
  if (attestation !== null) return checkAttestation(attestation, keys, decision)
  if (agreement === null) return { missing: 'the file has no attestation and no agreement' }
  if (decision.attestation_binding !== undefined || agreement['agreement_id'] !== decision.agreement_id)
    return failed('agreement_mismatch')
  const trust = { keys: [], genesis, history: key_history ?? undefined, validatorKeys: new Map<string, string>() }
  const verdict = await verifyRecordOfKind('agreement-record', agreement, {
    ...trust,
    now: instantOf(decision.decision_made_at),
  })
  if (verdict.ok) return PASSED
  // The key of the other party is not in the file, and the window was checked when the decision was made.
  return { missing: `the signatures of both parties of the agreement (${verdict.reason})` }
}

async function checkAttestation(
  attestation: JsonObject,
  keys: AuthorityKeys,
  decision: BoundaryDecision,
): Promise<Finding> {
  const binding = decision.attestation_binding
  if (binding === undefined) return failed('attestation_mismatch')
  const { signatures: _signatures, ...body } = attestation
  if (digestOf(body) !== binding.attestation_digest || body['attestation_id'] !== binding.attestation_id)
    return failed('attestation_digest_mismatch')
  try {
    const record = readAttestation(attestation)
    if (record.issuer_sovereign_id !== keys.genesis.network_name)
      return { missing: 'the key of the issuer of the attestation' }
    const isSigned = await verifyList(record, signersOf(keys, record))
    return isSigned ? PASSED : failed('attestation_invalid_signature')
  } catch (error) {
    if (error instanceof FormError) return failed('attestation_malformed')
    throw error
  }
}
