import { shape } from '@chancery/protocol'
import type { AnswerOf } from '../form.ts'
import { text, texts } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const facts = {
  current: {
    id: 'GET /admin/changes',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    stream: true,
    summary: 'What changed',
    purpose:
      'Gives a version of each list of the console, and which lists changed since an earlier joint version; as an event stream with Accept: text/event-stream.',
    errors: ['unexpected_field'],
    query: { since: shape.string },
    answer: shape.open({
      /** The joint version of all lists, for the next call. */
      version: text,
      /** Names of `versions` that differ from the given joint version; empty without one. */
      changed: texts,
      /** A text for each list. Only equality has a meaning. */
      versions: shape.required(shape.mapOf(shape.string)),
    }),
  },
} as const

/** Versions of what operators list, so that a list is read again only after a change. */
export const changes: Routes<typeof facts> = routes(facts)

/** What has a version: the lists of the operator console. */
export const CHANGE_TOPICS = [
  'nodes',
  'invites',
  'agents',
  'members',
  'partners',
  'treaties',
  'policies',
  'evidence',
  'approvals',
  'audit',
  'keys',
] as const
export type ChangeTopic = (typeof CHANGE_TOPICS)[number]

/** Of the event streams of GET /admin/changes; each process counts its own. */
export const STREAM_LIMITS = {
  perKey: 12,
  inAll: 200,
  /** How often versions are read while a stream is open. */
  readEverySeconds: 1,
  /** A comment after this time without an event, so that proxies and callers detect a lost connection. */
  heartbeatSeconds: 15,
  /** Then the stream ends, and the caller opens the next one with a new signature. */
  lifeSeconds: 600,
} as const

/** Which lists of an authority changed. */
export type Changes = AnswerOf<typeof changes.current>
