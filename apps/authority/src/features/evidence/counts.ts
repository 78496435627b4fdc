import { Refusal } from '@chancery/contract'
import { DAY, HOUR, type Instant, type JsonObject, instantOf, writeInstant } from '@chancery/protocol'
import { type HttpResponse, type Query, json } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceParts } from './parts.ts'
import { type CountRequest, type HourCount, readHourCounts } from './queries/counts.ts'
import { readFactsHead } from './queries/decision-facts.ts'
import { readChoice, readTime } from './requests.ts'

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
