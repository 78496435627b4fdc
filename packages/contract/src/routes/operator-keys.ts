import { shape } from '@chancery/protocol'
import { type AnswerOf, type PreviewOf, type SentOf, body } from '../form.ts'
import { count, flag, isDryRun, listOf, text, textOrNull, whole, wholeOrNull } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { open, optional, required } = shape

const limit = open({
  limit: whole,
  left: whole,
  window_seconds: whole,
  /** `operator key` or `address`. */
  counted_by: text,
})

const facts = {
  revoke: {
    id: 'POST /admin/operator-keys/{key_id}/revoke',
    access: 'operator:privileged',
    dryRun: 'operator:standard',
    limit: 'admin',
    reserve: 'revocation',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Revoke an operator key',
    purpose: 'Ends an operator key for good, unless it is the last usable one.',
    errors: ['invalid_input', 'last_active_operator_key', 'unknown_operator_key'],
    body: body(
      'invalid_input',
      {
        reason: optional(shape.string),
        /** Also revokes the last privileged key; only with a reason. The last usable key cannot be revoked. */
        force: optional(shape.boolean),
        dry_run: optional(shape.boolean),
        /** Also withdraws the invites it made that can still be used. */
        withdraw_invites: optional(shape.boolean),
        /** Also removes the admission rules it added. */
        remove_rules: optional(shape.boolean),
      },
      { reason: 'cessation_of_operation' },
    ),
    /** Time, reason and numbers are absent when the key was revoked before. */
    answer: open({
      key_id: text,
      revoked: flag,
      already_revoked: flag,
      revoked_at: optional(shape.string),
      reason: optional(shape.string),
      remaining_active_keys: optional(count),
      remaining_privileged_keys: optional(count),
      /** Only when it was requested. */
      withdrawn_invites: optional(count),
      /** Only when it was requested. */
      removed_rules: optional(count),
    }),
    /** The numbers are null when the key was revoked before. */
    preview: open({
      dry_run: isDryRun,
      key_id: text,
      would_change: flag,
      remaining_active_keys: wholeOrNull,
      remaining_privileged_keys: wholeOrNull,
      /** Invites it made that can still be used; null from an authority that does not report them. */
      open_invites: wholeOrNull,
      /** Admission rules it added that are in force; null from an authority that does not report them. */
      active_rules: wholeOrNull,
    }),
    idempotent: true,
    gateway: { operation: 'admin-revoke-operator-key', group: 'administration' },
  },
  activity: {
    id: 'GET /admin/operator-keys/{key_id}/activity',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'What an operator key did',
    purpose: 'Counts the audit events of an operator key by type over a time, and its invites that can still be used.',
    errors: ['invalid_input', 'unexpected_field', 'unknown_operator_key'],
    query: { days: shape.integer(1, 3650) },
    answer: open({
      key_id: text,
      revoked: flag,
      from: text,
      until: text,
      /** False when there were too many events to count: then `from` is later than requested. */
      complete: flag,
      events: listOf(open({ event_type: text, count: whole, first_at: text, last_at: text })),
      open_invites: whole,
      /** Admission rules it added that are in force; null from an authority that does not report them. */
      active_rules: wholeOrNull,
    }),
  },
  list: {
    id: 'GET /admin/operator-keys',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Operator keys',
    purpose: 'Lists configured and revoked operator keys with tier, revocation and the day of the last use.',
    errors: ['unexpected_field'],
    query: {},
    answer: open({
      count: whole,
      operator_keys: listOf(
        open({
          key_id: text,
          /** Key and tier are null when it is no longer configured. */
          public_key: textOrNull,
          tier: textOrNull,
          usable: flag,
          revoked_at: textOrNull,
          reason: textOrNull,
          revoked_by: textOrNull,
          /** A day, YYYY-MM-DD; null when no use is stored. */
          last_used: textOrNull,
        }),
        100_000,
      ),
    }),
  },
  whoami: {
    id: 'GET /admin/whoami',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'The operator key of this request',
    purpose: 'Gives tier and limits of the calling key, the server time, and the settings that operators work with.',
    errors: ['unexpected_field'],
    query: {},
    answer: open({
      key_id: text,
      public_key: text,
      tier: text,
      network: text,
      server_time: text,
      limits: required(
        open({
          operator_read: required(limit),
          /** Absent from an authority of an earlier release. */
          operator_decision: optional(limit),
          admin: required(limit),
          revocation: required(limit),
        }),
      ),
      /** Empty when any role may be invited. */
      allowed_roles: listOf(shape.string, 10_000),
      heartbeat_seconds: whole,
      silent_after_seconds: whole,
      renewal_grace_seconds: whole,
      console_key_idle_minutes: whole,
      passkeys: flag,
    }),
  },
} as const

/** Operator keys are configured at start; over HTTP they can only be revoked (protocol/core 12). */
export const operatorKeys: Routes<typeof facts> = routes(facts)

export type OperatorKeyRevocation = AnswerOf<typeof operatorKeys.revoke>
export type OperatorKeyPreview = PreviewOf<typeof operatorKeys.revoke>
export type OperatorKeyRequest = Omit<SentOf<typeof operatorKeys.revoke>, 'dry_run'>
/** Actions of a key, counted from the audit log. */
export type OperatorKeyActivity = AnswerOf<typeof operatorKeys.activity>
export type OperatorKeyList = AnswerOf<typeof operatorKeys.list>
/** A key that is configured or was revoked. */
export type OperatorKeyRow = OperatorKeyList['operator_keys'][number]
/** The key that signed the request, and the settings that operators work with. */
export type OperatorIdentity = AnswerOf<typeof operatorKeys.whoami>
export type OperatorLimit = OperatorIdentity['limits']['admin']
