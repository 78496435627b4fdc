import { shape } from '@chancery/protocol'
import type { AnswerOf, QueryOf } from '../form.ts'
import {
  cursorQuery,
  flag,
  listOf,
  orNull,
  paging,
  storedRecord,
  text,
  textOrNull,
  texts,
  whole,
  wholeOrNull,
} from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { nullable, oneOf, open, required } = shape

export const NODE_STATES = ['active', 'ends_soon', 'silent', 'superseded', 'revoked', 'expired'] as const

/** `more`: there are more than were counted. */
const bounded = required(open({ count: whole, more: flag }))

/** One node key by its newest certificate. */
const summary = {
  node_public_key: text,
  label: textOrNull,
  state: required(oneOf(...NODE_STATES)),
  roles: texts,
  cert_id: text,
  joined_at: text,
  issued_at: text,
  expires_at: text,
  revoked_at: textOrNull,
  revocation_reason: textOrNull,
  last_heartbeat: textOrNull,
  heartbeat_status: textOrNull,
  remote_addr: textOrNull,
  agent_id: textOrNull,
  capabilities: listOf(shape.string, 10_000),
}

const facts = {
  list: {
    id: 'GET /admin/nodes',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Nodes',
    purpose:
      'Lists node keys by their newest certificate, with state, last heartbeat and agent, and counts each state.',
    errors: ['invalid_input', 'invalid_page', 'invalid_timestamps', 'unexpected_field'],
    query: {
      ...cursorQuery,
      has_agent: oneOf('true', 'false'),
      joined_since: shape.string,
      /** Begins the label (in any case), key, certificate id, agent id or address. */
      q: shape.string,
      role: shape.string,
      /**
       * `attention` when left out: silent nodes first, then certificates that end within a day, then labels, then the
       * newest.
       */
      sort: oneOf('attention', 'newest', 'ends', 'label'),
      state: oneOf(...NODE_STATES),
    },
    answer: open({
      count: whole,
      /** A page with a filter may have fewer rows than the limit although there are more. */
      nodes: listOf(open(summary)),
      /** Of the whole network, whatever the filter. Null while those of a large network are being counted. */
      counts: orNull({
        all: bounded,
        active: bounded,
        ends_soon: bounded,
        silent: bounded,
        superseded: bounded,
        revoked: bounded,
        expired: bounded,
      }),
      ...paging,
    }),
  },
  find: {
    id: 'GET /admin/nodes/{node_public_key}',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'One node',
    purpose: 'Gives a node key, as base64url without padding, with its certificates, agent and invite.',
    errors: ['invalid_public_key', 'node_not_found', 'unexpected_field'],
    query: {},
    answer: open({
      ...summary,
      state: text,
      /** The newest 100, as they were signed. */
      certificates: listOf(
        open({
          cert_id: text,
          issued_at: text,
          expires_at: text,
          renewed_from: textOrNull,
          superseded_at: textOrNull,
          revoked_at: textOrNull,
          revocation_reason: textOrNull,
          certificate: required(storedRecord('join-certificate')),
        }),
      ),
      more_certificates: flag,
      agent: required(nullable(storedRecord('agent-descriptor'))),
      invite: orNull({
        token_fingerprint: text,
        roles: texts,
        max_validity_hours: wholeOrNull,
        recipient_public_key: textOrNull,
        created_at: text,
        created_by: textOrNull,
        expires_at: textOrNull,
        used_at: textOrNull,
      }),
    }),
  },
  events: {
    id: 'GET /admin/nodes/{node_public_key}/events',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Audit events of a node',
    purpose: 'Lists redacted audit events that name a node key, its certificates or its invite, newest first.',
    errors: ['invalid_page', 'invalid_public_key', 'node_not_found', 'unexpected_field'],
    query: cursorQuery,
    /** Redacted audit events, newest first. */
    answer: open({ count: whole, events: listOf(shape.object), next_cursor: textOrNull }),
  },
} as const

/** Nodes as operators look at them: one row for each key, whatever the number of its certificates. */
export const roster: Routes<typeof facts> = routes(facts)

export type NodeState = (typeof NODE_STATES)[number]
export type NodePage = AnswerOf<typeof roster.list>
export type NodeSummary = NodePage['nodes'][number]
export type NodeFilter = Omit<QueryOf<typeof roster.list>, 'cursor' | 'limit'>
export type NodeDetails = AnswerOf<typeof roster.find>
export type NodeAuditEvents = AnswerOf<typeof roster.events>
