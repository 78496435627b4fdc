import { type BodyOf, Refusal, enrollment } from '@chancery/contract'
import { isPlainText, readJoinCertificate, readPublicKey, shape } from '@chancery/protocol'
import type { JoinCertificate, JsonObject, JsonValue } from '@chancery/protocol'
import {
  readForm,
  readGrantedRoles,
  readMember,
  readOrRefuse,
  refuseUnknownMembers,
} from '../../requests/read-fields.ts'
import { type Evidence, readEvidence } from '../admission/index.ts'
import type { InviteChoice } from './queries/invite-rows.ts'

const MAX_LABEL = 64

/** A label is text for operators: it is in no signed record and no public response. */
export function readLabel(value: JsonValue): string {
  if (typeof value !== 'string' || !isPlainText(value, MAX_LABEL))
    throw new Refusal('invalid_input', { field: 'label' })
  return value
}

/** The form labels are compared in. Computed here, because databases fold letters in different ways. */
export function foldLabel(label: string): string {
  return label.normalize('NFC').toLowerCase()
}

export const DEFAULT_VALIDITY_HOURS = 168

export interface InviteRequest {
  readonly roles: readonly string[]
  readonly maxValidityHours: number
  readonly tokenExpiryHours: number
  readonly recipient: string | null
  readonly label: string | null
}

/** protocol/core 8, in the order of its table. */
export function readInviteRequest(body: JsonObject, allowedRoles: readonly string[]): InviteRequest {
  refuseUnknownMembers(body, enrollment.invite.body.names)
  const { recipient_public_key, label = null } = body
  return {
    ...readTerms(body, allowedRoles),
    recipient: readRecipient(recipient_public_key),
    label: label === null ? null : readLabel(label),
  }
}

type Terms = Omit<InviteRequest, 'recipient' | 'label'>

export interface BatchRequest extends Terms {
  readonly count: number
}

/** For several invites, none of which can be limited to one key. */
export function readBatchRequest(body: JsonObject, allowedRoles: readonly string[]): BatchRequest {
  refuseUnknownMembers(body, enrollment.inviteBatch.body.names)
  const count = readOrRefuse('invalid_input', () => shape.integer(1, BATCH_INVITES)(body['count'] ?? null, 'count'))
  return { ...readTerms(body, allowedRoles), count }
}

const BATCH_INVITES = 1000

export interface WithdrawalRequest {
  readonly choice: InviteChoice
  readonly reason: string
  readonly isDryRun: boolean
}

export function readWithdrawal(body: JsonObject): WithdrawalRequest {
  const { reason, dry_run: isDryRun, ...chosen } = readForm(enrollment.inviteWithdraw.body, body)
  return { choice: readChoice(chosen), reason, isDryRun }
}

type Chosen = Pick<BodyOf<typeof enrollment.inviteWithdraw>, 'token_fingerprints' | 'created_by' | 'batch_id'>

/** Exactly one of the three selects the invites. */
function readChoice({ token_fingerprints: fingerprints, created_by, batch_id }: Chosen): InviteChoice {
  const given = [fingerprints, created_by, batch_id].filter((value) => value !== undefined)
  if (given.length !== 1) throw new Refusal('invalid_input', { field: 'token_fingerprints, created_by or batch_id' })
  if (fingerprints !== undefined) return { by: 'fingerprints', fingerprints: [...new Set(fingerprints)] }
  if (created_by !== undefined) return { by: 'maker', created_by }
  return { by: 'batch', batch_id: batch_id ?? '' }
}

function readTerms(body: JsonObject, allowedRoles: readonly string[]): Terms {
  return {
    roles: readGrantedRoles(body['roles'] === undefined ? ['role:client'] : body['roles'], 1, allowedRoles),
    maxValidityHours: readMember(
      body['max_validity_hours'],
      DEFAULT_VALIDITY_HOURS,
      shape.integer(1, 8760),
      'invalid_max_validity_hours',
    ),
    tokenExpiryHours: readMember(body['token_expiry_hours'], 24, shape.integer(1, 720), 'invalid_token_expiry_hours'),
  }
}

function readRecipient(value: JsonValue | undefined): string | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'string' || readPublicKey(value) === undefined) throw new Refusal('invalid_recipient_public_key')
  return value
}

export interface JoinRequest {
  readonly node_public_key: string
  readonly inviteToken: string
  readonly validityHours: number
}

/** Checks 2 to 6 of protocol/core 5.2. Root, authority and operator keys must not be node keys. */
export function readJoinRequest(body: JsonObject, reserved: ReadonlySet<string>): JoinRequest {
  refuseSiblings(body, ['cert_id'])
  const node_public_key = readNodeKey(body, reserved)
  const token = body['invite_token']
  if (typeof token !== 'string' || !isPlainText(token, 256)) throw new Refusal('missing_invite_token')
  return { node_public_key, inviteToken: token, validityHours: readRequestedHours(body) }
}

export interface EvidenceJoinRequest {
  readonly node_public_key: string
  readonly evidence: Evidence
  readonly validityHours: number
}

/** A join by evidence (protocol/admission 3). It has no invite. */
export function readEvidenceJoin(body: JsonObject, reserved: ReadonlySet<string>): EvidenceJoinRequest {
  refuseSiblings(body, ['cert_id', 'invite_token'])
  const node_public_key = readNodeKey(body, reserved)
  const evidence = readEvidence(body['evidence'] ?? null)
  return { node_public_key, evidence, validityHours: readRequestedHours(body) }
}

function readNodeKey(body: JsonObject, reserved: ReadonlySet<string>): string {
  const key = body['node_public_key']
  if (key === undefined || key === '' || key === null) throw new Refusal('missing_node_public_key')
  if (typeof key !== 'string' || readPublicKey(key) === undefined || reserved.has(key))
    throw new Refusal('invalid_public_key')
  return key
}

export interface CertificateRequest {
  readonly cert_id: string
  readonly node_public_key: string
}

/** Checks 2 to 4 of protocol/core 7 for POST /heartbeat. */
export function readHeartbeatRequest(
  body: JsonObject,
): CertificateRequest & { readonly status: string; readonly genesis_digest: string | null } {
  refuseSiblings(body, ['invite_token', 'validity_hours', 'roles', 'evidence'])
  const identity = readIdentity(body)
  const status = body['status'] === undefined ? 'unknown' : body['status']
  if (typeof status !== 'string' || !isPlainText(status, 64)) throw new Refusal('invalid_input', { field: 'status' })
  const digest = body['genesis_digest']
  // The block of the node, used only for the progress of a key succession. An invalid value is ignored.
  const genesis_digest = typeof digest === 'string' && /^[0-9a-f]{64}$/.test(digest) ? digest : null
  return { ...identity, status, genesis_digest }
}

/** Checks 2 to 4 of protocol/core 7 for POST /renew. Roles are compared with the stored ones later. */
export function readRenewRequest(body: JsonObject): CertificateRequest & {
  readonly validityHours: number
  readonly roles: JsonValue | undefined
  readonly evidence: Evidence | undefined
} {
  refuseSiblings(body, ['invite_token', 'status'])
  const evidence = body['evidence'] === undefined ? undefined : readEvidence(body['evidence'])
  return { ...readIdentity(body), validityHours: readRequestedHours(body), roles: body['roles'], evidence }
}

/** As POST /renew, for POST /wit. */
export function readWitRequest(body: JsonObject): CertificateRequest {
  refuseSiblings(body, ['invite_token', 'status', 'validity_hours', 'roles'])
  return readIdentity(body)
}

/** The certificate is verified later. The proof names audience and action, so a body of another route is refused. */
export function readPresentRequest(body: JsonObject): {
  readonly certificate: JoinCertificate
  readonly node_public_key: string
} {
  const key = body['node_public_key']
  if (typeof key !== 'string' || readPublicKey(key) === undefined)
    throw new Refusal('invalid_input', { field: 'node_public_key' })
  const certificate = readMember(
    body['certificate'] ?? null,
    undefined,
    (value) => readJoinCertificate(value),
    'invalid_input',
  )
  if (certificate === undefined || !isPlainText(certificate.cert_id, 128))
    throw new Refusal('invalid_input', { field: 'certificate' })
  return { certificate, node_public_key: key }
}

function readIdentity(body: JsonObject): CertificateRequest {
  const [cert_id, key] = [body['cert_id'], body['node_public_key']]
  if (typeof cert_id !== 'string' || cert_id === '' || typeof key !== 'string' || key === '')
    throw new Refusal('missing_certificate_identity')
  // No certificate has an id of another form. Such an id is reported as unknown, after the proof.
  return { cert_id: isPlainText(cert_id, 128) ? cert_id : 'unknown', node_public_key: key }
}

function readRequestedHours(body: JsonObject): number {
  return readMember(
    body['validity_hours'],
    DEFAULT_VALIDITY_HOURS,
    shape.integer(1, Number.MAX_SAFE_INTEGER),
    'invalid_validity_hours',
  )
}

/** A captured proof must not work on a sister route: members of those routes are refused (protocol/core 5.1). */
function refuseSiblings(body: JsonObject, names: readonly string[]): void {
  const present = names.filter((name) => Object.hasOwn(body, name))
  if (present.length > 0) throw new Refusal('unexpected_field', { fields: present })
}
