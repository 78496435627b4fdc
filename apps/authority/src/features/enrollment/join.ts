import { Refusal } from '@chancery/contract'
import { draftJoinCertificate, sha256Hex, writeInstant, writeJson, writeSortable } from '@chancery/protocol'
import type { JoinCertificate } from '@chancery/protocol'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import { type VerifiedNode, authenticateNode, refuseNode, reservedKeys } from '../../auth/node.ts'
import { toClaim } from '../../auth/nonces.ts'
import { faultPoint } from '#faults'
import type { EnrollmentState } from './nodes.ts'
import type { EnrollmentParts } from './present.ts'
import { joinByEvidence, refuseCompromised } from './join-by-evidence.ts'
import { type JoinRequest, foldLabel, readJoinRequest } from './requests.ts'
import type { InviteDetails } from './queries/invites.ts'
import { type JoinRow, toSortable } from './queries/joins.ts'

/**
 * POST /join
 * Issues a certificate for an invite and a proof of possession. Nonce, invite, certificate and audit event are one
 * transaction: a failed issue leaves the invite unused, and exactly one of several concurrent joins with one invite
 * succeeds.
 */
export async function join(call: Call, parts: EnrollmentState): Promise<HttpResponse> {
  if (Object.hasOwn(call.body, 'evidence')) return joinByEvidence(call, parts)
  const request = readJoinRequest(call.body, reservedKeys(parts))
  parts.signing.requireAllowed()
  const digest = sha256Hex(request.inviteToken)
  const found = await findUsableInvite(call, parts, request, digest)
  faultPoint('join-read')
  const proof = await authenticateNode(call, parts, 'join')
  // After the proof, so that only the holder of the key learns that it is compromised.
  if (found.compromised_cert_id !== null) await refuseCompromised(call, parts, request, found.compromised_cert_id)
  faultPoint('join-proved')
  const certificate = await issue(parts, request, found)
  const text = writeJson(certificate)
  faultPoint('join-sealed')
  const outcome = await parts.batches.joins.add(
    toRow(call, parts, { request, digest, proof, found, certificate, text }),
  )
  faultPoint('join-committed')
  switch (outcome) {
    case 'issued':
      return jsonText(text, 201)
    case 'nonce_spent':
      return refuseNode(call, parts, 'join', 'nonce_replay', proof.nonce)
    case 'invite_spent':
      throw new Refusal('invalid_invite_token')
    case 'key_compromised':
      return refuseCompromised(call, parts, request, null)
  }
}

/** Check 7: one response for unknown, used, expired and foreign invites. Too many failures are rate limited. */
async function findUsableInvite(
  call: Call,
  parts: EnrollmentState,
  request: JoinRequest,
  digest: string,
): Promise<InviteDetails> {
  const found = await parts.batches.invites.add({ token_digest: digest, node_public_key: request.node_public_key })
  const now = writeSortable(parts.clock.now())
  const isForOther = found?.recipient_public_key !== null && found?.recipient_public_key !== request.node_public_key
  if (found !== undefined && found.used_at === null && now <= found.expires_at && !isForOther) return found
  const bucket = `join-token-fail ${call.limitKey}`
  const isWithin = await parts.limits.shared.hit(bucket, parts.limits.perMinute['join-token-fail'])
  throw new Refusal(isWithin ? 'invalid_invite_token' : 'rate_limit_exceeded')
}

function issue(parts: EnrollmentParts, request: JoinRequest, invite: InviteDetails): Promise<JoinCertificate> {
  const draft = draftJoinCertificate({
    cert_id: parts.ids.uuid(),
    node_public_key: request.node_public_key,
    network_name: parts.network.name,
    // Roles come from the invite. Roles that the node sends are signed but otherwise ignored.
    roles: JSON.parse(invite.roles_json) as string[],
    issued_by: parts.signing.keyId,
    now: parts.clock.now(),
    validityHours: Math.min(request.validityHours, invite.max_validity_hours),
  })
  return parts.signing.sign(draft)
}

interface Issued {
  readonly request: JoinRequest
  readonly digest: string
  readonly proof: VerifiedNode
  readonly found: InviteDetails
  readonly certificate: JoinCertificate
  readonly text: string
}

function toRow(
  call: Call,
  parts: EnrollmentParts,
  { request, digest, proof, found, certificate, text }: Issued,
): JoinRow {
  const { claim, expires_at: claim_expires_at } = toClaim(
    `join:${request.node_public_key}`,
    proof.nonce,
    proof.signedAt,
  )
  const event_id = parts.ids.uuid()
  const details = {
    cert_id: certificate.cert_id,
    node_public_key: request.node_public_key,
    invite_token_fingerprint: digest.slice(0, 16),
    roles: certificate.roles,
    ...requestDetails(call),
  }
  return {
    token_digest: digest,
    claim,
    claim_expires_at,
    cert_id: certificate.cert_id,
    node_public_key: request.node_public_key,
    cert_json: text,
    roles_json: found.roles_json,
    issued_at: toSortable(certificate.issued_at),
    expires_at: toSortable(certificate.expires_at),
    max_validity_hours: found.max_validity_hours,
    remote_addr: call.remoteAddress,
    label: found.label,
    folded: found.label === null ? null : foldLabel(found.label),
    event_id,
    event_json: writeJson({
      event_id,
      event_type: 'certificate_issued',
      details,
      created_at: writeInstant(parts.clock.now()),
    }),
  }
}
