import { field, readJoinCertificate, shape } from '@chancery/protocol'
import { type AnswerOf, type PreviewOf, type QueryOf, type SentOf, openBody } from '../form.ts'
import { count, type cursorQuery, listOf, nodeProof, type pageQuery, record, text } from '../members.ts'
import { type Routes, routes } from '../route.ts'
import { listFacts } from './enrollment-lists.ts'
import { inviteFacts } from './invites.ts'

const { arrayOf, nullable, open, optional, required } = shape

const certificate = record('join-certificate', readJoinCertificate)
const roles = listOf(shape.string, 64)
const timestamp = required(field.timestamp)

/** What a platform says of a node (protocol/admission). It is a secret until it expires. */
const evidence = optional(
  open({
    rule_id: text,
    token: text,
    /** For X.509-SVIDs: the leaf first, each as base64 of its DER form. */
    certificate_chain: optional(arrayOf(shape.string, { max: 16 })),
  }),
)

/** Proofs of earlier releases name neither authority nor action. */
const proof = { ...nodeProof, action: optional(shape.string), audience: optional(shape.string) }

const KEY = { node_public_key: '<public key>' }
const SIGNED = { timestamp: '2026-01-01T00:00:00Z', nonce: '<random nonce>', signature: '<signature>' }
const PROOF = { ...KEY, ...SIGNED }
const AUDIENCE = '<public key of the authority>'

const facts = {
  ...inviteFacts,
  join: {
    id: 'POST /join',
    access: 'node',
    limit: 'join',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Join the network',
    purpose: 'Trades an invite or evidence, and a proof of possession, for a signed join certificate.',
    errors: [
      'evidence_refused',
      'invalid_join_evidence',
      'invalid_invite_token',
      'invalid_public_key',
      'invalid_validity_hours',
      'missing_invite_token',
      'missing_node_public_key',
      'node_key_compromised',
      'node_key_revoked',
    ],
    body: openBody(
      'invalid_invite_token',
      {
        /** Or evidence: one of the two. */
        invite_token: optional(shape.string),
        evidence,
        validity_hours: optional(count),
        ...proof,
      },
      { invite_token: '<invite token>', ...KEY, validity_hours: 24, ...SIGNED },
    ),
    answer: certificate,
    bodyLimit: 'node',
    deadlineSeconds: 20,
    gateway: { operation: 'enrollment-request-join', group: 'enrollment' },
  },
  heartbeat: {
    id: 'POST /heartbeat',
    access: 'node',
    limit: 'node',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Report liveness',
    purpose: 'Records that the holder of a valid certificate is alive.',
    errors: [
      'certificate_expired',
      'certificate_key_mismatch',
      'certificate_not_found',
      'certificate_not_yet_valid',
      'certificate_revoked',
      'certificate_superseded',
      'invalid_input',
      'missing_certificate_identity',
      'node_key_compromised',
    ],
    body: openBody(
      'missing_certificate_identity',
      {
        cert_id: text,
        /** Shown in the roster; `unknown` when left out. */
        status: optional(shape.string),
        /** Digest of the genesis block of this node: the authority counts the nodes that follow a key succession. */
        genesis_digest: optional(shape.string),
        ...proof,
      },
      { cert_id: '<certificate id>', status: 'active', ...PROOF },
    ),
    answer: open({
      ack: optional(shape.boolean),
      server_time: timestamp,
      /** This and the next two are absent from an authority that sends no interval (protocol/core 7). */
      next_heartbeat_seconds: optional(count),
      crl_sequence: optional(count),
      policy_id: optional(nullable(shape.string)),
      /** Of the newest block of the root; only for nodes that sent theirs, and after a succession. */
      genesis_digest: optional(shape.string),
    }),
    bodyLimit: 'node',
    gateway: { operation: 'enrollment-heartbeat', group: 'enrollment' },
  },
  renew: {
    id: 'POST /renew',
    access: 'node',
    limit: 'node',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Renew a certificate',
    purpose: 'Issues a new certificate with the same key and roles and lets the old one run out.',
    errors: [
      'certificate_expired',
      'certificate_key_mismatch',
      'certificate_not_found',
      'certificate_not_yet_valid',
      'certificate_revoked',
      'certificate_superseded',
      'evidence_refused',
      'evidence_required',
      'invalid_join_evidence',
      'invalid_role',
      'invalid_validity_hours',
      'missing_certificate_identity',
      'node_key_compromised',
      'renewal_role_change_forbidden',
    ],
    body: openBody(
      'missing_certificate_identity',
      {
        cert_id: text,
        validity_hours: optional(count),
        roles: optional(roles.read),
        /** Fresh, of the same rule; needed for a certificate that came from evidence. */
        evidence,
        ...proof,
      },
      { cert_id: '<certificate id>', validity_hours: 24, ...PROOF },
    ),
    answer: certificate,
    bodyLimit: 'node',
    deadlineSeconds: 20,
    gateway: { operation: 'enrollment-renew-certificate', group: 'enrollment' },
  },
  wit: {
    id: 'POST /wit',
    access: 'node',
    limit: 'node',
    stability: 'beta',
    success: 201,
    response: 'json',
    summary: 'Workload identity token',
    purpose: 'Issues a WIMSE token about a valid certificate to the holder of its key.',
    errors: [
      'certificate_expired',
      'certificate_key_mismatch',
      'certificate_not_found',
      'certificate_not_yet_valid',
      'certificate_revoked',
      'certificate_superseded',
      'missing_certificate_identity',
      'node_key_compromised',
      'wimse_disabled',
    ],
    body: openBody(
      'missing_certificate_identity',
      { cert_id: text, ...nodeProof },
      { cert_id: '<certificate id>', audience: AUDIENCE, action: 'wit', ...PROOF },
    ),
    answer: open({ wit: text, expires_at: timestamp }),
    bodyLimit: 'node',
  },
  present: {
    id: 'POST /present',
    access: 'node',
    limit: 'node',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Present a certificate',
    purpose: 'Takes a valid certificate of this authority that a restored database lacks, for its adoption.',
    errors: [
      'certificate_expired',
      'certificate_key_mismatch',
      'certificate_not_found',
      'certificate_revoked',
      'invalid_input',
      'node_key_compromised',
    ],
    body: openBody(
      'invalid_input',
      { certificate: required(certificate), ...nodeProof },
      { certificate: { paste: '<join certificate>' }, audience: AUDIENCE, action: 'present', ...PROOF },
    ),
    /** `waiting`: an operator decides. `known`: the authority has it, and accepts it. */
    answer: open({ cert_id: text, state: text }),
    bodyLimit: 'node',
  },
  ...listFacts,
} as const

/** Invites, joins, renewals, heartbeats and the roster (protocol/core 5 to 8, 19). */
export const enrollment: Routes<typeof facts> = routes(facts)

export type InviteRequest = SentOf<typeof enrollment.invite>
export type Invite = AnswerOf<typeof enrollment.invite>
export type InviteBatchRequest = SentOf<typeof enrollment.inviteBatch>
export type InviteBatch = AnswerOf<typeof enrollment.inviteBatch>
export type InvitePage = AnswerOf<typeof enrollment.inviteList>
export type InviteRow = InvitePage['invites'][number]
export type InviteState = InviteRow['state']
export type InviteFilter = Omit<QueryOf<typeof enrollment.inviteList>, keyof typeof pageQuery>
export type InviteWithdrawalRequest = Omit<SentOf<typeof enrollment.inviteWithdraw>, 'dry_run'>
export type InviteWithdrawal = AnswerOf<typeof enrollment.inviteWithdraw>
export type InvitePreview = PreviewOf<typeof enrollment.inviteWithdraw>
export type HeartbeatRequest = Omit<SentOf<typeof enrollment.heartbeat>, keyof typeof nodeProof>
export type HeartbeatResponse = AnswerOf<typeof enrollment.heartbeat>
export type RenewRequest = Omit<SentOf<typeof enrollment.renew>, 'roles' | keyof typeof nodeProof>
export type JoinEvidence = NonNullable<RenewRequest['evidence']>
export type IssuedWit = AnswerOf<typeof enrollment.wit>
export type PresentedCertificate = AnswerOf<typeof enrollment.present>
/** The active nodes, for an operator. */
export type Roster = Required<AnswerOf<typeof enrollment.nodes>>
export type RosterEntry = Roster['nodes'][string]
export type CertificatePage = AnswerOf<typeof enrollment.certificates>
export type IssuedCertificate = CertificatePage['certificates'][number]
export type IssuedState = IssuedCertificate['state']
export type CertificateFilter = Omit<QueryOf<typeof enrollment.certificates>, keyof typeof cursorQuery>
