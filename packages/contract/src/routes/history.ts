import { RECORD_SUBJECTS, SUBJECT_KINDS, described, shape, trustHistoryPageShape } from '@chancery/protocol'
import type { AnswerOf } from '../form.ts'
import { cursorQuery, listOf, orNull, text, textOrNull, texts, whole, wholeOrNull } from '../members.ts'
import { type Routes, routes } from '../route.ts'

/** Its form is described in docs/protocol/trust-history.md. */
const page = shape.required(
  described(
    (value, place) => trustHistoryPageShape(value, place),
    () => ({ type: 'object' }),
  ),
)

const facts = {
  trusted: {
    id: 'GET /admin/history/trusted',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Was it trusted then?',
    purpose: 'Returns the state of a certificate, attestation or treaty at a past time, with signed proof.',
    errors: ['invalid_input', 'invalid_timestamps', 'unexpected_field'],
    query: {
      at: shape.string,
      id: shape.string,
      /** The partner that issued an attestation. */
      issuer_sovereign_id: shape.string,
      /** Without it, the kind of the stored record. */
      kind: shape.oneOf(...RECORD_SUBJECTS),
    },
    answer: shape.open({
      state: text,
      reason: text,
      kind: shape.required(shape.oneOf(...RECORD_SUBJECTS)),
      id: text,
      at: text,
      /** Of a revoked or superseded record, also if it was revoked later. */
      ended_at: textOrNull,
      end_reason: textOrNull,
      source: orNull({ kind: text, sequence: wholeOrNull }),
      treaty_id: textOrNull,
      notes: texts,
      proof: listOf(shape.object),
      page,
    }),
  },
  archive: {
    id: 'GET /admin/history/archive',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'One page of the trust history',
    purpose: 'Returns a signed page of what is stored about records of one kind, for an archive.',
    errors: ['invalid_input', 'invalid_page', 'unexpected_field'],
    query: { ...cursorQuery, kind: shape.oneOf(...SUBJECT_KINDS) },
    answer: shape.open({ count: whole, page, next_cursor: textOrNull }),
  },
} as const

/** Past states, from stored history (protocol/trust-history). */
export const history: Routes<typeof facts> = routes(facts)

/** What the authority says. Verify its page with `verifyPast`: the state is a convenience. */
export type PastAnswer = AnswerOf<typeof history.trusted>
export type ArchivePage = AnswerOf<typeof history.archive>
