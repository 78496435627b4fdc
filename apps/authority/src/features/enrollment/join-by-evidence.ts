import { Refusal } from '@chancery/contract'
import { type JoinCertificate, draftJoinCertificate, writeJson } from '@chancery/protocol'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import { type VerifiedNode, authenticateNode, refuseNode, reservedKeys } from '../../auth/node.ts'
import { spendNonceInside, toClaim } from '../../auth/nonces.ts'
import type { Transaction } from '../../database/database.ts'
import { lockNodeKeys } from '../../database/transaction.ts'
import { EvidenceRefusedError, evidenceDetails, findNewest } from '../admission/index.ts'
import type { EvidenceReason, VerifiedEvidence } from '../admission/index.ts'
import { faultPoint } from '#faults'
import type { EnrollmentParts } from './present.ts'
import { insertIssued, isKeyCompromised, isKeyRevoked } from './queries/renewals.ts'
import { type EvidenceJoinRequest, type JoinRequest, readEvidenceJoin } from './requests.ts'

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
async function refuseRevoked(
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

type Outcome = { readonly text: string } | 'nonce_spent' | 'key_compromised' | 'key_revoked'

/**
 * POST /join with evidence in the place of an invite (protocol/admission 3). The proof of the node key comes first, so
 * only its holder causes any other work. Nonce, evidence, join of the rule, certificate and audit event are one
 * transaction.
 */
export async function joinByEvidence(call: Call, parts: EnrollmentParts): Promise<HttpResponse> {
  const request = readEvidenceJoin(call.body, reservedKeys(parts))
  parts.signing.requireAllowed()
  const proof = await authenticateNode(call, parts, 'join')
  const verdict = await parts.admission.verifyEvidence(request.evidence, request.node_public_key)
  if (!verdict.ok) return refuseEvidence(call, parts, request, verdict)
  const outcome = await issue(call, parts, request, { proof, evidence: verdict.evidence })
  faultPoint('join-committed')
  if (outcome === 'nonce_spent') return refuseNode(call, parts, 'join', 'nonce_replay', proof.nonce)
  if (outcome === 'key_compromised') return refuseCompromised(call, parts, request, null)
  if (outcome === 'key_revoked') return refuseRevoked(call, parts, request)
  return jsonText(outcome.text, 201)
}

interface Checked {
  readonly proof: VerifiedNode
  readonly evidence: VerifiedEvidence
}

async function issue(
  call: Call,
  parts: EnrollmentParts,
  request: EvidenceJoinRequest,
  { proof, evidence }: Checked,
): Promise<Outcome> {
  const { node_public_key } = request
  const claim = toClaim(`join:${node_public_key}`, proof.nonce, proof.signedAt)
  try {
    return await parts.database.write(async (tx): Promise<Outcome> => {
      // As in a renewal: a revocation of the key has one order with this certificate.
      await lockNodeKeys(tx, [node_public_key])
      if (await isKeyCompromised(tx.query, node_public_key)) return 'key_compromised'
      if (await isKeyRevoked(tx.query, node_public_key)) return 'key_revoked'
      if (evidence.former !== undefined && (await findNewest(tx.query, node_public_key))?.isRevoked === true)
        return 'key_revoked'
      if (!(await spendNonceInside(tx, claim))) return 'nonce_spent'
      return { text: await issueInside(tx, call, parts, request, evidence) }
    })
  } catch (error) {
    if (!(error instanceof EvidenceRefusedError)) throw error
    return refuseEvidence(call, parts, request, { reason: error.reason, digest: evidence.digest })
  }
}

async function issueInside(
  tx: Transaction,
  call: Call,
  parts: EnrollmentParts,
  { node_public_key, validityHours }: EvidenceJoinRequest,
  evidence: VerifiedEvidence,
): Promise<string> {
  const { rule, former } = evidence
  // A node that joins again gets what it had: its roles, and its hours from the next renewal on.
  const { roles: granted, max_validity_hours } = former ?? rule
  const draft = draftJoinCertificate({
    cert_id: parts.ids.uuid(),
    node_public_key,
    network_name: parts.network.name,
    roles: granted,
    issued_by: parts.signing.keyId,
    now: parts.clock.now(),
    validityHours: Math.min(validityHours, max_validity_hours, rule.max_validity_hours),
  })
  const certificate: JoinCertificate = await parts.signing.sign(draft)
  const text = writeJson(certificate)
  const { cert_id, roles } = certificate
  faultPoint('join-sealed')
  const row = await insertIssued(tx, {
    certificate,
    cert_json: text,
    roles_json: writeJson(roles),
    max_validity_hours,
    renewed_from: null,
    remote_addr: call.remoteAddress,
  })
  await parts.admission.claimEvidence(tx, evidence, {
    cert_id,
    node_public_key,
    expires_at: row.expires_at,
    isRenewal: false,
  })
  const details = {
    cert_id,
    node_public_key,
    roles,
    ...evidenceDetails(evidence),
    ...requestDetails(call),
  }
  await parts.audit.record(tx, { type: 'certificate_issued', details })
  return text
}

/** One code for every cause. The reason says where to look, and nothing of the rule. Too many are rate limited. */
async function refuseEvidence(
  call: Call,
  parts: EnrollmentParts,
  { node_public_key, evidence }: EvidenceJoinRequest,
  { reason, digest }: { readonly reason: EvidenceReason; readonly digest: string },
): Promise<never> {
  const cause = requestDetails(call)
  const details = { reason, node_public_key, rule_id: evidence.rule_id, evidence_digest: digest, ...cause }
  await parts.audit.recordRefusal({ type: 'join_rejected', details }, call)
  const bucket = `join-token-fail ${call.limitKey}`
  const isWithin = await parts.limits.shared.hit(bucket, parts.limits.perMinute['join-token-fail'])
  throw isWithin ? new Refusal('evidence_refused', { reason }) : new Refusal('rate_limit_exceeded')
}
