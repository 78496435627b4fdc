import { field, shape } from '@chancery/protocol'
import { body } from '../form.ts'
import { flag, isDryRun, listOf, pageQuery, paging, text, textOrNull, whole } from '../members.ts'

const { arrayOf, integer, nullable, oneOf, open, optional, required, withDefault } = shape

const roles = listOf(shape.string, 64)
const timestamp = required(field.timestamp)
const INVITE_STATES = ['open', 'used', 'withdrawn', 'expired'] as const
const fingerprint = field.matching(/^[0-9a-f]{16}$/, 'must be 16 hex digits')
const unknownFingerprints = listOf(shape.string)
const batchId = field.matching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'a UUID in lower case')

/** Absent members get the defaults of the authority (protocol/core 8). */
const terms = {
  roles: optional(roles.read),
  max_validity_hours: optional(integer(1, 8760)),
  token_expiry_hours: optional(integer(1, 720)),
}

/** Invites, which the table of enrollment has. */
export const inviteFacts = {
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
} as const
