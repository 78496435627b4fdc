import { Refusal } from '@chancery/contract'
import { draftJoinCertificate, sha256Hex, writeInstant, writeJson, writeSortable } from '@chancery/protocol'
import type { JoinCertificate } from '@chancery/protocol'
import { jsonText, limitAddress } from '@chancery/service-kit'
import type { Answer, Call } from '@chancery/service-kit'
import { recordAudit } from '../../audit/record.ts'
import { authenticateNode, refuseNode } from '../../auth/node.ts'
import type { ProvenNode } from '../../auth/node.ts'
import { toClaim } from '../../auth/nonces.ts'
import { faultPoint } from '#faults'
import type { Office } from '../../office.ts'
import { requireSigningWindow, seal } from '../../signing/seal.ts'
import type { FoundInvite } from '../../store/invites.ts'
import type { JoinRow } from '../../store/joins.ts'
import { toSortable } from './renewal-store.ts'
import { readJoinRequest } from './requests.ts'
import type { JoinRequest } from './requests.ts'

/**
 * POST /join
 * Trades an invite and a proof of possession for a certificate. Nonce, invite, certificate and audit event are one
 * transaction: a failed issue leaves the invite unused, and of racers for one invite exactly one is served.
 */
export async function join(call: Call, office: Office): Promise<Answer> {
  const request = readJoinRequest(call.body, reservedKeys(office))
  requireSigningWindow(office)
  const digest = sha256Hex(request.inviteToken)
  const found = await findUsableInvite(call, office, request, digest)
  faultPoint('join-read')
  const proof = await authenticateNode(call, office, 'join')
  // Behind the proof: only the holder of the key learns that it is burnt.
  if (found.compromised_cert_id !== null) await refuseCompromised(call, office, request, found.compromised_cert_id)
  faultPoint('join-proved')
  const certificate = await issue(office, request, found)
  const text = writeJson(certificate)
  faultPoint('join-sealed')
  const outcome = await office.enrollment.joins.add(
    toRow(call, office, { request, digest, proof, found, certificate, text }),
  )
  faultPoint('join-committed')
  switch (outcome) {
    case 'issued':
      return jsonText(text, 201)
    case 'nonce_spent':
      return refuseNode(call, office, 'join', 'nonce_replay', proof.nonce)
    case 'invite_spent':
      throw new Refusal('invalid_invite_token')
    case 'key_compromised':
      return refuseCompromised(call, office, request, null)
  }
}

/** Check 7: one answer for unknown, used, expired and foreign invites; too many failures are slowed down. */
async function findUsableInvite(
  call: Call,
  office: Office,
  request: JoinRequest,
  digest: string,
): Promise<FoundInvite> {
  const found = await office.enrollment.invites.add({ token_digest: digest, node_public_key: request.node_public_key })
  const now = writeSortable(office.clock.now())
  const isForOther = found?.recipient_public_key !== null && found?.recipient_public_key !== request.node_public_key
  if (found !== undefined && found.used_at === null && now <= found.expires_at && !isForOther) return found
  const bucket = `join-token-fail ${limitAddress(call.remoteAddress)}`
  const isWithin = await office.limiter.hit(bucket, office.settings.limits['join-token-fail'])
  throw new Refusal(isWithin ? 'invalid_invite_token' : 'rate_limit_exceeded')
}

async function refuseCompromised(
  call: Call,
  office: Office,
  request: JoinRequest,
  prior_cert_id: string | null,
): Promise<never> {
  const cause = { remote_addr: call.remoteAddress, request_id: call.requestId }
  const details = { reason: 'node_key_compromised', node_public_key: request.node_public_key, prior_cert_id, ...cause }
  // Kept for certain: a burnt key that tries again is the first sign of who has it.
  await office.store.transact((tx) => recordAudit(tx, office, { type: 'join_rejected', details }))
  throw new Refusal('node_key_compromised')
}

function issue(office: Office, request: JoinRequest, invite: FoundInvite): Promise<JoinCertificate> {
  const draft = draftJoinCertificate({
    cert_id: office.ids.uuid(),
    node_public_key: request.node_public_key,
    network_name: office.genesis.network_name,
    // Roles come from the invite; what the node claims is covered by its signature and otherwise ignored.
    roles: JSON.parse(invite.roles_json) as string[],
    issued_by: office.signer.keyId,
    now: office.clock.now(),
    validityHours: Math.min(request.validityHours, invite.max_validity_hours),
  })
  return seal(office, draft)
}

interface Issued {
  readonly request: JoinRequest
  readonly digest: string
  readonly proof: ProvenNode
  readonly found: FoundInvite
  readonly certificate: JoinCertificate
  readonly text: string
}

function toRow(call: Call, office: Office, { request, digest, proof, found, certificate, text }: Issued): JoinRow {
  const { claim, expires_at: claim_expires_at } = toClaim(
    `join:${request.node_public_key}`,
    proof.nonce,
    proof.signedAt,
  )
  const event_id = office.ids.uuid()
  const details = {
    cert_id: certificate.cert_id,
    node_public_key: request.node_public_key,
    invite_token_fingerprint: digest.slice(0, 16),
    roles: certificate.roles,
    remote_addr: call.remoteAddress,
    request_id: call.requestId,
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
    event_id,
    event_json: writeJson({
      event_id,
      event_type: 'certificate_issued',
      details,
      created_at: writeInstant(office.clock.now()),
    }),
  }
}

/** Root, authority and operator keys may not double as a node's. */
function reservedKeys(office: Office): ReadonlySet<string> {
  return new Set([
    office.genesis.root_public_key,
    office.signer.publicKey,
    ...[...office.operators.values()].map((key) => key.publicKey),
  ])
}
