import { field, readRecognitionTreaty, shape } from '@chancery/protocol'
import { type AnswerOf, type SentOf, body } from '../form.ts'
import {
  cursorQuery,
  flag,
  isDryRun,
  listOf,
  orNull,
  record,
  text,
  textOrNull,
  texts,
  whole,
  wholeOrNull,
} from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { arrayOf, integer, nullable, oneOf, open, optional, required, withDefault } = shape

const reason = field.plainText(256)
const state = oneOf('alarm', 'paused', 'new', 'fresh', 'watch', 'stale')

const choices = {
  url: optional(shape.string),
  import_feeds: optional(oneOf('on', 'off')),
  interval_seconds: optional(integer(60, 86_400)),
  /** Null: the setting of the authority; 0: no age is asked for. */
  max_feed_age_seconds: optional(nullable(shape.anyOf(integer(0, 0), integer(60, 2_592_000)))),
  allow_http: optional(shape.boolean),
  label: optional(nullable(field.plainText(64))),
}

/** Exactly one of them. */
const pins = {
  root_public_key: optional(field.publicKey),
  authority_public_keys: optional(arrayOf(field.publicKey, { min: 1, max: 16, distinct: true })),
}

const listed = {
  sovereign_id: text,
  url: text,
  pin: required(
    shape.anyOf(
      open({ kind: required(oneOf('root')), root_public_key: text }),
      open({ kind: required(oneOf('keys')), authority_public_keys: texts }),
    ),
  ),
  import_feeds: required(oneOf('on', 'off')),
  interval_seconds: whole,
  max_feed_age_seconds: wholeOrNull,
  allow_http: flag,
  paused: flag,
  label: textOrNull,
  state: required(state),
  reasons: texts,
  last_good_pull_at: textOrNull,
  next_pull_at: text,
  failures: whole,
  /** `pinned` is false when authority keys are pinned and not the root. */
  genesis: orNull({ digest: text, root_public_key: text, valid_to: text, pinned: flag }),
  feed: orNull({
    sequence: whole,
    issued_at: text,
    ids: whole,
    digest: text,
    imported_sequence: wholeOrNull,
    complete: flag,
  }),
  crl: orNull({ sequence: whole, issued_at: text, next_update: text, entries: whole, digest: text }),
  treaties: orNull({ active: whole, refused: whole, truncated: flag, as_of: textOrNull }),
  last_pull: orNull({ at: text, outcome: text, duration_ms: whole }),
  added_at: text,
  added_by: text,
}

const partner = open({
  ...listed,
  authority_keys: listOf(
    open({ public_key: text, key_id: textOrNull, valid_from: textOrNull, valid_to: textOrNull, current: flag }),
    128,
  ),
  alarms: listOf(
    open({
      alarm_id: text,
      kind: text,
      material: text,
      sequence: wholeOrNull,
      held_digest: textOrNull,
      offered_digest: textOrNull,
      raised_at: text,
      cleared_at: textOrNull,
    }),
    100,
  ),
})

const removed = { sovereign_id: text, removed: flag, treaties_in_force: texts }

const facts = {
  add: {
    id: 'POST /admin/partners',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'beta',
    success: 201,
    response: 'json',
    summary: 'Add a partner',
    purpose: 'Registers another sovereign whose published material this authority reads.',
    errors: [
      'conflict',
      'invalid_partner',
      'partner_exists',
      'partner_limit',
      'partner_mismatch',
      'partner_unreachable',
      'partners_disabled',
    ],
    repeatable: true,
    body: body(
      'invalid_partner',
      { ...choices, ...pins, url: text, sovereign_id: optional(field.plainText(128)), defer: optional(shape.boolean) },
      { url: 'https://na.partner.example', root_public_key: '<public key>', import_feeds: 'on' },
    ),
    answer: partner,
    gateway: { operation: 'partners-add', group: 'partners', since: 'v0.60' },
  },
  list: {
    id: 'GET /admin/partners',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'List partners',
    purpose: 'Lists partners by name with their state.',
    errors: ['invalid_input', 'invalid_page', 'partners_disabled', 'unexpected_field'],
    query: { ...cursorQuery, state },
    answer: open({
      count: whole,
      partners: listOf(open(listed)),
      next_cursor: textOrNull,
    }),
    gateway: { operation: 'partners-list', group: 'partners', query: ['cursor', 'limit', 'state'], since: 'v0.60' },
  },
  find: {
    id: 'GET /admin/partners/{sovereign_id}',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'One partner',
    purpose: 'Gives one partner with its state, keys and alarms.',
    errors: ['partner_not_found', 'partners_disabled'],
    answer: partner,
    gateway: { operation: 'partners-get', group: 'partners', since: 'v0.60' },
  },
  update: {
    id: 'POST /admin/partners/{sovereign_id}',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Change a partner',
    purpose: 'Changes the members of a partner that were sent.',
    errors: ['invalid_partner', 'partner_not_found', 'partners_disabled'],
    body: body('invalid_partner', { ...choices, paused: optional(shape.boolean) }, { interval_seconds: 600 }),
    answer: partner,
    idempotent: true,
    gateway: { operation: 'partners-update', group: 'partners', since: 'v0.60' },
  },
  pull: {
    id: 'POST /admin/partners/{sovereign_id}/pull',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Pull a partner',
    purpose: 'Reads the published material of a partner now.',
    errors: ['partner_not_found', 'partners_disabled', 'pull_in_progress'],
    body: body('invalid_partner', {}),
    deadlineSeconds: 330,
    answer: open({ outcome: text, changed: texts, partner: required(partner) }),
    gateway: { operation: 'partners-pull', group: 'partners', since: 'v0.60' },
  },
  repin: {
    id: 'POST /admin/partners/{sovereign_id}/repin',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Pin other keys of a partner',
    purpose: 'Replaces the pinned keys of a partner that shows the new ones.',
    errors: ['invalid_partner', 'partner_mismatch', 'partner_not_found', 'partner_unreachable', 'partners_disabled'],
    body: body(
      'invalid_partner',
      { ...pins, reason: required(reason) },
      { root_public_key: '<public key>', reason: 'The partner has a new root key.' },
    ),
    answer: partner,
    idempotent: true,
    gateway: { operation: 'partners-repin', group: 'partners', since: 'v0.60' },
  },
  clearAlarm: {
    id: 'POST /admin/partners/{sovereign_id}/clear-alarm',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Clear an alarm of a partner',
    purpose: 'Ends an alarm, so that the next content of the partner counts.',
    errors: ['alarm_not_found', 'invalid_partner', 'partner_not_found', 'partners_disabled'],
    body: body(
      'invalid_partner',
      { alarm_id: required(field.identifier), reason: required(reason) },
      { alarm_id: '<alarm id>', reason: 'The partner explained it.' },
    ),
    answer: partner,
    idempotent: true,
    gateway: { operation: 'partners-clear-alarm', group: 'partners', since: 'v0.60' },
  },
  remove: {
    id: 'POST /admin/partners/{sovereign_id}/remove',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Remove a partner',
    purpose: 'Ends the pulls of a partner and removes the treaties it reported.',
    errors: ['invalid_input', 'partner_not_found', 'partners_disabled'],
    body: body(
      'invalid_input',
      { reason: withDefault(reason, 'unspecified'), dry_run: withDefault(shape.boolean, false) },
      { reason: 'The partnership ended.' },
    ),
    answer: open(removed),
    preview: open({ ...removed, dry_run: isDryRun }),
    gateway: { operation: 'partners-remove', group: 'partners', since: 'v0.60' },
  },
  treaties: {
    id: 'GET /admin/partners/{sovereign_id}/treaties',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Treaties a partner reports',
    purpose: 'Lists the treaties that a partner shows as active, which decide nothing here.',
    errors: ['invalid_page', 'partner_not_found', 'partners_disabled', 'unexpected_field'],
    query: cursorQuery,
    answer: open({
      count: whole,
      treaties: listOf(
        open({ treaty: required(record('recognition-treaty', readRecognitionTreaty)), as_of: textOrNull }),
      ),
      next_cursor: textOrNull,
    }),
    gateway: { operation: 'partners-treaties', group: 'partners', query: ['cursor', 'limit'], since: 'v0.60' },
  },
} as const

/** Other sovereigns whose published material is read (protocol/partners). */
export const partners: Routes<typeof facts> = routes(facts)

export type Partner = AnswerOf<typeof partners.find>
export type ListedPartner = Omit<Partner, 'authority_keys' | 'alarms'>
export type PartnerAlarm = Partner['alarms'][number]
export type PartnerPage = AnswerOf<typeof partners.list>
export type PartnerPull = AnswerOf<typeof partners.pull>
export type PartnerState = Partner['state']
export type PartnerTreaties = AnswerOf<typeof partners.treaties>
export type PartnerChanges = SentOf<typeof partners.update>
export type PartnerRequest = SentOf<typeof partners.add>
export type PartnerPin = Pick<PartnerRequest, 'root_public_key' | 'authority_public_keys'>
export type RemovedPartner = AnswerOf<typeof partners.remove>
