import { HOUR, type Instant, SECOND, readInstant } from '@chancery/protocol'
import { type Reader, countRows } from '../../database/database.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { STATES, announcedKey, findOutdated, hasNewKey, reasonsOf, silentSince, stateOf } from './partner-state.ts'
import type { State } from './partner-state.ts'
import { type Pin, readFacts } from './stored-facts.ts'
import { type OwnTreaty, type PartnerRow, listKeyChanges, listOwnTreaties } from './queries/partners.ts'

export interface PartnerCounts {
  readonly count: number
  readonly states: Readonly<Record<State, number>>
  readonly alarms: number
  /** Undefined without a good pull. Paused partners do not count. */
  readonly oldestGoodPullSeconds: number | undefined
}

/** Counts for metrics and health, without reading what was pulled. */
export async function countStates(db: Reader, now: Instant): Promise<PartnerCounts> {
  const rows = await db
    .selectFrom('partners')
    .select(['open_alarms', 'paused', 'last_good_pull_at', 'interval_seconds'])
    .execute()
  const states = Object.fromEntries(STATES.map((state) => [state, 0])) as Record<State, number>
  let [alarms, oldest] = [0, undefined as number | undefined]
  for (const row of rows) {
    states[stateOf(row, now)] += 1
    alarms += row.open_alarms
    const at = row.paused === 1 ? undefined : readInstant(row.last_good_pull_at ?? '')
    if (at !== undefined) oldest = Math.max(oldest ?? 0, Number((now - at) / SECOND))
  }
  return { count: rows.length, states, alarms, oldestGoodPullSeconds: oldest }
}

/** Partners whose authority key changed in the last 7 days. */
export async function countKeyChanges(db: Reader, now: Instant): Promise<number> {
  return (await listKeyChanges(db)).filter((text) => hasNewKey(readFacts(text), now)).length
}

export function countReportedTreaties(db: Reader): Promise<number> {
  return countRows(db, 'reported_treaties')
}

/** The partners on the dashboard. */
export type PartnersView = {
  readonly count: number
  readonly states: Readonly<Record<State, number>>
  readonly alarms: number
  readonly rows: readonly PartnerLine[]
}

export type PartnerLine = {
  readonly sovereign_id: string
  readonly state: State
  readonly reasons: readonly string[]
  readonly last_good_pull_at: string | null
  readonly feed_sequence: number | null
  readonly feed_age_hours: number | null
  readonly import_feeds: 'on' | 'off'
}

const MAX_LINES = 50
/** The most urgent first. */
const URGENCY: readonly State[] = ['alarm', 'stale', 'watch', 'new', 'paused', 'fresh']

export interface DescribedPartners {
  readonly view: PartnersView
  /** Ids of own treaties in force that name none of the accepted keys of their partner. */
  readonly outdatedTreaties: readonly string[]
  /** Partners with an own treaty in force and no contact for longer than a fresh one has. */
  readonly silent: readonly { readonly sovereign_id: string; readonly since: string }[]
  /** Partners that announce their next key, with the treaties that do not name it. */
  readonly announced: readonly {
    readonly sovereign_id: string
    readonly public_key: string
    readonly treaties: readonly OwnTreaty[]
  }[]
}

/** For the public dashboard: partners with an own treaty in force, without address or key. */
export async function describePartners(db: Reader, own: string, now: Instant): Promise<DescribedPartners> {
  const { count, states, alarms } = await countStates(db, now)
  if (count === 0) return { view: { count, states, alarms, rows: [] }, outdatedTreaties: [], silent: [], announced: [] }
  const treaties = Map.groupBy(await listOwnTreaties(db, own, now), (treaty) => treaty.subject_sovereign_id)
  const named = [...treaties.keys()].slice(0, 1000)
  const rows =
    named.length === 0 ? [] : await db.selectFrom('partners').selectAll().where('sovereign_id', 'in', named).execute()
  const lines = rows
    .map((row) => lineOf(row, treaties.get(row.sovereign_id) ?? [], now))
    .toSorted(
      (a, b) =>
        URGENCY.indexOf(a.state) - URGENCY.indexOf(b.state) ||
        b.reasons.length - a.reasons.length ||
        (a.sovereign_id < b.sovereign_id ? -1 : 1),
    )
  const outdated = rows.flatMap((row) => {
    const pin = JSON.parse(row.pin_json) as Pin
    return findOutdated(pin, readFacts(row.stored_json), treaties.get(row.sovereign_id) ?? [], now)
  })
  return {
    view: { count, states, alarms, rows: lines.slice(0, MAX_LINES) },
    outdatedTreaties: outdated.map(({ treaty_id }) => treaty_id),
    silent: rows.flatMap((row) => {
      const since = silentSince(row, now)
      return since === undefined ? [] : [{ sovereign_id: row.sovereign_id, since }]
    }),
    announced: rows.flatMap((row) => {
      const { sovereign_id } = row
      const public_key = announcedKey(readFacts(row.stored_json))
      if (public_key === undefined) return []
      const inForce = treaties.get(sovereign_id) ?? []
      return [
        {
          sovereign_id,
          public_key,
          treaties: inForce.filter((each) => !each.subject_public_keys.includes(public_key)),
        },
      ]
    }),
  }
}

function lineOf(row: PartnerRow, treaties: readonly OwnTreaty[], now: Instant): PartnerLine {
  const facts = readFacts(row.stored_json)
  const issued = readInstant(facts.feed?.issued_at ?? '')
  return {
    sovereign_id: row.sovereign_id,
    state: stateOf(row, now),
    reasons: reasonsOf(row, JSON.parse(row.pin_json) as Pin, facts, treaties, now),
    last_good_pull_at: toWireTime(row.last_good_pull_at),
    feed_sequence: facts.feed?.sequence ?? null,
    feed_age_hours: issued === undefined ? null : Math.max(0, Number((now - issued) / HOUR)),
    import_feeds: row.import_feeds === 1 ? 'on' : 'off',
  }
}
