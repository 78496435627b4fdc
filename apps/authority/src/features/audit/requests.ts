import { AUDIT_EVENTS, Refusal } from '@chancery/contract'
import { readInstant, writeSortable } from '@chancery/protocol'
import type { Query } from '@chancery/service-kit'
import { type EventPosition, isSubject } from '../../audit/subjects.ts'
import { readPosition, readWhole } from '../../requests/paging.ts'

/** Types that one request may name: each is one index range. */
const MAX_TYPES = 10
const MAX_ROWS = 100

export interface AuditRequest {
  readonly types: readonly string[]
  readonly key_id: string | undefined
  readonly subject: string | undefined
  readonly request_id: string | undefined
  readonly since: string | undefined
  readonly until: string | undefined
  readonly isNewestFirst: boolean
  readonly from: EventPosition | undefined
  readonly limit: number
}

export function readAuditRequest(query: Query): AuditRequest {
  const order = query.first('order') ?? 'newest'
  if (order !== 'newest' && order !== 'oldest') throw new Refusal('invalid_input', { field: 'order' })
  const cursor = query.first('cursor')
  return {
    types: readTypes(query.first('event')),
    key_id: readId(query, 'key_id'),
    subject: readId(query, 'subject'),
    request_id: readId(query, 'request_id'),
    since: readTime(query.first('since')),
    until: readTime(query.first('until')),
    isNewestFirst: order === 'newest',
    from: cursor === undefined ? undefined : readPlace(cursor),
    limit: readWhole(query.first('limit') ?? '50', 1, MAX_ROWS),
  }
}

/** A mistyped event would look like one that never happened. */
function readTypes(text: string | undefined): readonly string[] {
  if (text === undefined) return []
  const types = text.split(',', MAX_TYPES + 1)
  if (types.length > MAX_TYPES || !types.every((type) => Object.hasOwn(AUDIT_EVENTS, type)))
    throw new Refusal('invalid_input', { field: 'event' })
  return [...new Set(types)]
}

function readId(query: Query, name: string): string | undefined {
  const value = query.first(name)
  if (value !== undefined && !isSubject(value)) throw new Refusal('invalid_input', { field: name })
  return value
}

function readTime(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const instant = readInstant(text.replace(/ (?=\d\d:\d\d$)/, '+'))
  if (instant === undefined) throw new Refusal('invalid_timestamps')
  return writeSortable(instant)
}

export function writePlace({ created_at, event_id }: EventPosition): string {
  return `${created_at}|${event_id}`
}

function readPlace(cursor: string): EventPosition {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)\|([0-9A-Za-z-]{1,64})$/.exec(readPosition(cursor))
  if (match === null) throw new Refusal('invalid_page')
  return { created_at: match[1] ?? '', event_id: match[2] ?? '' }
}
