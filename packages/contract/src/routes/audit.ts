import { shape } from '@chancery/protocol'
import type { AnswerOf, QueryOf } from '../form.ts'
import { cursorQuery, flag, listOf, textOrNull, whole } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const facts = {
  list: {
    id: 'GET /admin/audit',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Audit events',
    purpose: 'Lists redacted audit events with their numbers, by event, operator, named id, request or time.',
    errors: ['invalid_input', 'invalid_page', 'invalid_timestamps', 'unexpected_field'],
    query: {
      ...cursorQuery,
      limit: shape.integer(1, 100),
      /** Up to ten types, with commas between them. */
      event: shape.string,
      /** The operator who acted. */
      key_id: shape.string,
      order: shape.oneOf('newest', 'oldest'),
      request_id: shape.string,
      since: shape.string,
      /** An id that the event names, such as a certificate, a treaty or a node key. */
      subject: shape.string,
      until: shape.string,
    },
    answer: shape.open({
      count: whole,
      /** The highest number given so far. Numbers have no gaps. */
      last_number: whole,
      /** False while events of an earlier release are not indexed by the ids they name. */
      complete: flag,
      /** Redacted; `number` is null for a moment after the event. */
      events: listOf(shape.object),
      /** A page may have fewer events than asked for, and a next page. */
      next_cursor: textOrNull,
    }),
  },
} as const

/** What the authority recorded (protocol/core 26). */
export const audit: Routes<typeof facts> = routes(facts)

export type AuditPage = AnswerOf<typeof audit.list>
export type AuditQuery = QueryOf<typeof audit.list>
