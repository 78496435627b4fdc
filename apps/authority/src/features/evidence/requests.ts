import { Refusal } from '@chancery/contract'
import { ENTRY_KINDS, readInstant, writeSortable } from '@chancery/protocol'
import type { Query } from '@chancery/service-kit'
import { refuseUnknownParameters } from '../../requests/read-fields.ts'

/** Largest page of every list here (protocol/trust-operations 6.8). */
export const MAX_PAGE = 1000

/** Filters that match an envelope field exactly. */
export const FILTERS = [
  'vendor_id',
  'attestation_id',
  'capability',
  'resource_id',
  'outcome',
  'entry_kind',
  'decision_id',
] as const
export type Filter = (typeof FILTERS)[number]

/** Kinds that a later release may write (protocol/trust-operations 6.2). A search for one finds nothing. */
const RESERVED_KINDS = ['observation', 'break_glass', 'judgement', 'quarantine', 'registry']
const KINDS: readonly string[] = [...ENTRY_KINDS, ...RESERVED_KINDS]

export interface SearchRequest {
  readonly filters: Partial<Readonly<Record<Filter, string>>>
  readonly since: string | undefined
  readonly until: string | undefined
  readonly after: number
  readonly limit: number
}

export function readSearch(query: Query): SearchRequest {
  refuseUnknownParameters(query, [...FILTERS, 'since', 'until', 'after_sequence', 'limit'])
  const given = FILTERS.map((name) => [name, readFilter(query, name)] as const)
  return {
    filters: Object.fromEntries(given.filter(([, value]) => value !== undefined)),
    since: readTime(readFilter(query, 'since')),
    until: readTime(readFilter(query, 'until')),
    after: readWhole(query.first('after_sequence'), 0, Number.MAX_SAFE_INTEGER, 0),
    limit: readWhole(query.first('limit'), 1, MAX_PAGE, 100),
  }
}

function readFilter(query: Query, name: string): string | undefined {
  const value = query.first(name)
  if (value === '' || (name === 'entry_kind' && value !== undefined && !KINDS.includes(value)))
    throw new Refusal('invalid_input', { field: name })
  return value
}

/** One page of a list whose sequences have no gaps. */
export function readRun(query: Query, from: string, usual: number): { readonly after: number; readonly limit: number } {
  refuseUnknownParameters(query, [from, 'limit'])
  return {
    after: readWhole(query.first(from), 0, Number.MAX_SAFE_INTEGER, 0),
    limit: readWhole(query.first('limit'), 1, MAX_PAGE, usual),
  }
}

function readWhole(text: string | undefined, min: number, max: number, absent: number): number {
  if (text === undefined) return absent
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text)) throw new Refusal('invalid_page')
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < min || value > max) throw new Refusal('invalid_page')
  return value
}

/** In the form of stored columns. A plus that a form encoder replaced by a blank is read as a plus. */
function readTime(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const instant = readInstant(text.replace(/ (?=\d\d:\d\d$)/, '+'))
  if (instant === undefined) throw new Refusal('invalid_timestamps')
  return writeSortable(instant)
}
