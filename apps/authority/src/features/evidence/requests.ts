import { Refusal } from '@chancery/contract'
import { DAY, ENTRY_KINDS, HOUR, instantOf, readInstant, writeInstant, writeSortable } from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import { type HttpResponse, type Query, json } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceParts } from './store-verifier.ts'
import { type CountRequest, type HourCount, readHourCounts } from './queries/counts.ts'
import { readFactsHead } from './queries/decision-facts.ts'

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

/** Filters that match the facts of decisions, so they find decisions only. */
export const FACT_FILTERS = ['requester_sovereign_id', 'failed_gate'] as const
export type FactFilter = (typeof FACT_FILTERS)[number]

/** Kinds that a later release may write (protocol/trust-operations 6.2). A search for one finds nothing. */
const RESERVED_KINDS = ['observation', 'break_glass', 'judgement', 'quarantine', 'registry']
const KINDS: readonly string[] = [...ENTRY_KINDS, ...RESERVED_KINDS]

export interface SearchRequest {
  readonly filters: Partial<Readonly<Record<Filter | FactFilter, string>>>
  readonly since: string | undefined
  readonly until: string | undefined
  readonly isNewestFirst: boolean
  /** Entries after this position, oldest first; or before this one, newest first. */
  readonly after: number
  readonly before: number
  readonly isGrouped: boolean
  readonly limit: number
}

const FIRST_PAGE = Number.MAX_SAFE_INTEGER
/** Groups have several lines each. */
const MAX_GROUPS = 100

export function readSearch(query: Query): SearchRequest {
  const filters = [...FILTERS, ...FACT_FILTERS] as const
  const given = filters.map((name) => [name, readFilter(query, name)] as const)
  const isNewestFirst = readChoice(query, 'order', ['oldest', 'newest']) === 'newest'
  const isGrouped = readChoice(query, 'group', ['decision']) === 'decision'
  // A position of the other direction would be ignored, and its page would begin at the wrong end.
  refuseGiven(query, isNewestFirst ? ['after_sequence'] : ['before_sequence'])
  // Groups are found by their decision, which is never of another kind and names no resource.
  if (isGrouped) refuseGiven(query, ['entry_kind', 'resource_id'])
  if (isGrouped && !isNewestFirst) throw new Refusal('invalid_input', { field: 'order' })
  return {
    filters: Object.fromEntries(given.filter(([, value]) => value !== undefined)),
    since: readTime(readFilter(query, 'since')),
    until: readTime(readFilter(query, 'until')),
    isNewestFirst,
    after: readWhole(query.first('after_sequence'), 0, Number.MAX_SAFE_INTEGER, 0),
    before: readWhole(query.first('before_sequence'), 1, Number.MAX_SAFE_INTEGER, FIRST_PAGE),
    isGrouped,
    limit: isGrouped
      ? readWhole(query.first('limit'), 1, MAX_GROUPS, 50)
      : readWhole(query.first('limit'), 1, MAX_PAGE, 100),
  }
}

function readChoice(query: Query, name: string, choices: readonly string[]): string | undefined {
  const value = query.first(name)
  if (value !== undefined && !choices.includes(value)) throw new Refusal('invalid_input', { field: name })
  return value
}

function refuseGiven(query: Query, names: readonly string[]): void {
  const field = names.find((name) => query.first(name) !== undefined)
  if (field !== undefined) throw new Refusal('invalid_input', { field })
}

function readFilter(query: Query, name: string): string | undefined {
  const value = query.first(name)
  if (value === '' || (name === 'entry_kind' && value !== undefined && !KINDS.includes(value)))
    throw new Refusal('invalid_input', { field: name })
  return value
}

/** One page of a list whose sequences have no gaps. */
export function readRun(query: Query, from: string, usual: number): { readonly after: number; readonly limit: number } {
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

/** Numbers of one response (protocol/trust-operations 6.8). */
const MAX_NUMBERS = 400
/** Counts are stored for 400 days. */
const MAX_RANGE = 400n * DAY
/** Hours outside cannot be written as times with four digits of the year. */
const [EARLIEST, LATEST] = [instantOf('2000-01-01T00:00:00Z'), instantOf('9999-01-01T00:00:00Z')]
const SPLITS = ['outcome', 'capability', 'policy']

/**
 * GET /admin/evidence/counts
 * Counts stored decisions by hour, or over the whole range, from counters that are written with the entries.
 */
export async function counts(call: OperatorCall, parts: EvidenceParts): Promise<HttpResponse> {
  const request = readCounts(call.query, parts.clock.now())
  const db = parts.database.read
  const { described_through, present_through } = await readFactsHead(db)
  const { rows, isComplete } = await readHourCounts(db, request)
  return json({
    by: request.isByHour ? 'hour' : 'range',
    since: writeInstant(request.since),
    until: writeInstant(request.until),
    complete: isComplete && described_through >= present_through,
    counts: rows.map((row) => toCount(request, row)),
  })
}

function toCount({ isByHour, split, isByOutcome }: CountRequest, row: HourCount): JsonObject {
  return {
    ...(isByHour ? { hour: writeInstant(instantOf(row.hour)) } : {}),
    ...(split === 'total' ? {} : { [split]: row.name }),
    ...(isByOutcome ? { outcome: row.outcome } : {}),
    decisions: row.decisions,
  }
}

function readCounts(query: Query, now: Instant): CountRequest {
  const isByHour = readChoice(query, 'by', ['hour', 'range']) !== 'range'
  const words = readSplit(query)
  const [from, to] = [readTime(query.first('since')), readTime(query.first('until'))]
  const until = roundUp(to === undefined ? now : instantOf(to))
  const since = from === undefined ? until - DAY : instantOf(from) - (instantOf(from) % HOUR)
  if (until < EARLIEST || until > LATEST) throw new Refusal('invalid_input', { field: 'until' })
  if (since >= until || until - since > MAX_RANGE) throw new Refusal('invalid_input', { field: 'since' })
  const isByOutcome = words.includes('outcome')
  const perName = (isByHour ? Number((until - since) / HOUR) : 1) * (isByOutcome ? 2 : 1)
  if (perName > MAX_NUMBERS) throw new Refusal('invalid_input', { field: 'since' })
  const split = words.includes('capability') ? 'capability' : words.includes('policy') ? 'policy' : 'total'
  return { since, until, isByHour, isByOutcome, split, maxNames: Math.floor(MAX_NUMBERS / perName) }
}

/** Counts of capabilities under policies are not stored, so only one of the two may be named. */
function readSplit(query: Query): readonly string[] {
  const text = query.first('split')
  const words = text === undefined ? [] : text.split(',', SPLITS.length + 1)
  const isValid = words.every((word) => SPLITS.includes(word)) && new Set(words).size === words.length
  if (!isValid || (words.includes('capability') && words.includes('policy')))
    throw new Refusal('invalid_input', { field: 'split' })
  return words
}

function roundUp(time: Instant): Instant {
  return time % HOUR === 0n ? time : time - (time % HOUR) + HOUR
}
