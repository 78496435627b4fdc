import { audit } from '@chancery/contract'
import { type JsonObject, shape } from '@chancery/protocol'
import { json, known } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'

export interface AuditQuery {
  /** Up to ten types. */
  readonly event?: readonly string[]
  /** The operator who acted. */
  readonly key_id?: string
  /** An id that the event names, such as a certificate, a treaty or a node key. */
  readonly subject?: string
  readonly request_id?: string
  readonly since?: string
  readonly until?: string
  readonly order?: 'newest' | 'oldest'
  readonly cursor?: string
  readonly limit?: number
}

export interface AuditPage {
  readonly count: number
  /** The highest number given so far. Numbers have no gaps. */
  readonly last_number: number
  /** False while events of an earlier release are not indexed by the ids they name. */
  readonly complete: boolean
  /** Redacted; `number` is null for a moment after the event. */
  readonly events: readonly JsonObject[]
  /** A page may have fewer events than asked for, and a next page. */
  readonly next_cursor: string | null
}

export interface AuditApi {
  /** Beta. As operator. */
  page(query?: AuditQuery, options?: CallOptions): Promise<AuditPage>
}

const whole = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))
const readPage = known({
  count: whole,
  last_number: whole,
  complete: shape.required(shape.boolean),
  events: shape.required(shape.arrayOf(shape.object, { max: 100 })),
  next_cursor: shape.required(shape.nullable(shape.string)),
})

export function auditApi({ call }: Connection): AuditApi {
  return {
    page: ({ event, ...query } = {}, options) =>
      call({
        route: audit.list,
        query: { ...query, ...omitUndefined({ event: event?.join(',') }) },
        read: json((value) => readPage(value, '')),
        options,
      }),
  }
}
