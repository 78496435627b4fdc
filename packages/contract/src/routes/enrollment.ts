// oxlint-disable max-lines -- one table of all routes of the feature
import { field, readJoinCertificate, shape } from '@chancery/protocol'
import { type AnswerOf, type PreviewOf, type QueryOf, type SentOf, body, openBody } from '../form.ts'
import {
  count,
  cursorQuery,
  flag,
  isDryRun,
  listOf,
  nodeProof,
  pageQuery,
  paging,
  record,
  text,
  textOrNull,
  whole,
} from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { arrayOf, integer, mapOf, nullable, oneOf, open, optional, required, withDefault } = shape

const certificate = record('join-certificate', readJoinCertificate)
const roles = listOf(shape.string, 64)
const timestamp = required(field.timestamp)

/** Absent members get the defaults of the authority (protocol/core 8). */
const terms = {
  roles: optional(roles.read),
  max_validity_hours: optional(integer(1, 8760)),
  token_expiry_hours: optional(integer(1, 720)),
}

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

const INVITE_STATES = ['open', 'used', 'withdrawn', 'expired'] as const
const fingerprint = field.matching(/^[0-9a-f]{16}$/, 'must be 16 hex digits')
const unknownFingerprints = listOf(shape.string)
const batchId = field.matching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'a UUID in lower case')
const certificateState = oneOf('valid', 'superseded', 'expired', 'revoked')

const facts = {
  invite: {
    id: 'POST /admin/invite',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Create an invite',
    purpose: 'Makes a single-use token that lets one node join with the given roles.',
    errors: [
      'conflict',
      'invalid_input',
      'invalid_max_validity_hours',
      'invalid_recipient_public_key',
      'invalid_role',
      'invalid_token_expiry_hours',
    ],
    repeatable: true,
    body: body(
      'invalid_input',
      {
        ...terms,
        recipient_public_key: optional(nullable(field.publicKey)),
        /** Name of the node for operators, 1 to 64 characters. */
        label: optional(nullable(shape.string)),
      },
      { roles: ['role:client'], max_validity_hours: 24, token_expiry_hours: 24 },
    ),
    answer: open({
      /** A secret: anyone with it can join once. The authority stores only its digest and cannot show it again. */
      token_id: text,
      expires_at: timestamp,
    }),
    gateway: { operation: 'admin-create-invite', group: 'administration' },
  },
  inviteBatch: {
    id: 'POST /admin/invites',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 201,
    response: 'json',
    summary: 'Create many invites',
    purpose: 'Makes up to 1000 single-use tokens with the same terms, all or none of them.',
    errors: ['conflict', 'invalid_input', 'invalid_max_validity_hours', 'invalid_role', 'invalid_token_expiry_hours'],
    repeatable: true,
    body: body(
      'invalid_input',
      { ...terms, count: required(integer(1, 1000)) },
      { roles: ['role:client'], max_validity_hours: 24, token_expiry_hours: 24, count: 2 },
    ),
    answer: open({
      count: whole,
      /** Names the batch in lists and when it is withdrawn. */
      batch_id: text,
      expires_at: timestamp,
      /** Secrets: anyone with one can join once. They cannot be shown again. */
      token_ids: listOf(shape.string),
    }),
  },
  inviteList: {
    id: 'GET /admin/invites',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'List invites',
    purpose: 'Lists invites by their fingerprints, with creator and state.',
    errors: ['invalid_input', 'invalid_page', 'unexpected_field'],
    query: {
      ...pageQuery,
      batch_id: batchId,
      created_by: field.keyId,
      /** `open` when left out. */
      state: oneOf(...INVITE_STATES, 'all'),
    },
    /** By creation time. A token itself cannot be read. */
    answer: open({
      count: whole,
      invites: listOf(
        open({
          token_fingerprint: text,
          state: required(oneOf(...INVITE_STATES)),
          roles,
          max_validity_hours: whole,
          recipient_public_key: textOrNull,
          created_at: text,
          /** Null when a release without this field made it. */
          created_by: textOrNull,
          batch_id: textOrNull,
          expires_at: text,
          used_at: textOrNull,
          used_by_key: textOrNull,
          withdrawn_at: textOrNull,
          withdrawn_by: textOrNull,
        }),
      ),
      ...paging,
    }),
  },
  inviteWithdraw: {
    id: 'POST /admin/invites/withdraw',
    access: 'operator:standard',
    limit: 'admin',
    reserve: 'revocation',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Withdraw invites',
    purpose: 'Ends unused invites: a standard key those it made, a privileged key any.',
    errors: ['insufficient_operator_tier', 'invalid_input'],
    body: body(
      'invalid_input',
      {
        /** Exactly one of the three selects the invites. */
        token_fingerprints: optional(arrayOf(fingerprint, { min: 1, max: 1000 })),
        created_by: optional(field.keyId),
        batch_id: optional(batchId),
        reason: withDefault(field.plainText(256), 'unspecified'),
        dry_run: withDefault(shape.boolean, false),
      },
      { token_fingerprints: ['0123456789abcdef'], reason: 'lost' },
    ),
    answer: open({
      /** How many were withdrawn now; used or expired invites do not change. */
      withdrawn: whole,
      unknown_fingerprints: unknownFingerprints,
    }),
    preview: open({
      dry_run: isDryRun,
      would_change: flag,
      open_invites: whole,
      unknown_fingerprints: unknownFingerprints,
    }),
    idempotent: true,
  },
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
  // With operator headers the call spends from the admin limit, and headers that fail never get the public answer.
  nodes: {
    id: 'GET /nodes',
    access: 'public-or-operator:standard',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Active nodes',
    purpose: 'Counts active nodes and names them to a verified operator.',
    answer: open({
      count: whole,
      /** By certificate id. Only for operators. */
      nodes: optional(
        mapOf(
          open({
            node_public_key: text,
            roles,
            status: text,
            last_heartbeat: text,
            remote_addr: text,
            expires_at: text,
            label: textOrNull,
          }),
        ),
      ),
    }),
    gateway: { operation: 'health-list-nodes', group: 'network', signed: true },
  },
  certificates: {
    id: 'GET /admin/certificates',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Inventory of certificates',
    purpose: 'Lists every certificate ever issued with its state and the label of its node.',
    errors: ['invalid_input', 'invalid_page', 'invalid_timestamps', 'unexpected_field'],
    query: {
      ...cursorQuery,
      state: certificateState,
      cert_id: shape.string,
      node_public_key: shape.string,
      role: shape.string,
      /** Contained in the label, in any case. */
      label: shape.string,
      issued_since: shape.string,
      issued_until: shape.string,
      expires_before: shape.string,
    },
    /** Newest first. A page with a filter may have fewer rows than the limit although there are more. */
    answer: open({
      count: whole,
      certificates: listOf(
        open({
          cert_id: text,
          node_public_key: text,
          roles,
          issued_at: text,
          expires_at: text,
          state: required(certificateState),
          revoked_at: textOrNull,
          revocation_reason: textOrNull,
          renewed_from: textOrNull,
          renewed_by: textOrNull,
          /** This and the next two are null after a revocation, and some time after the end. */
          last_heartbeat: textOrNull,
          heartbeat_status: textOrNull,
          remote_addr: textOrNull,
          label: textOrNull,
        }),
      ),
      ...paging,
    }),
    gateway: {
      operation: 'admin-list-certificates',
      group: 'administration',
      query: [
        'cert_id',
        'cursor',
        'expires_before',
        'issued_since',
        'issued_until',
        'label',
        'limit',
        'node_public_key',
        'role',
        'state',
      ],
      since: 'v0.60',
    },
  },
  labelNode: {
    id: 'POST /admin/nodes/label',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Label a node',
    purpose: 'Names a node key for operators, or removes its name.',
    errors: ['invalid_input', 'invalid_public_key', 'node_not_found'],
    body: body(
      'invalid_input',
      {
        node_public_key: required(field.publicKey),
        /** Null removes the name. */
        label: required(nullable(shape.string)),
      },
      { node_public_key: '<public key>', label: 'Berlin 3' },
    ),
    answer: open({ node_public_key: text, label: textOrNull }),
    idempotent: true,
    gateway: { operation: 'admin-label-node', group: 'administration', since: 'v0.60' },
  },
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
