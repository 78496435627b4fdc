import { DAY, type Instant, MINUTE, readInstant, writeInstant, writeSortable } from '@chancery/protocol'
import { type Enrollment, countExpiring } from '../enrollment/index.ts'
import { type ActivityMinute, deleteMinutesBefore, insertMinute, listMinutes } from './queries.ts'
import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Boundary } from '../boundary/index.ts'
import type { BoundaryPolicies } from '../boundary-policies/index.ts'
import type { Connectome } from '../connectome/index.ts'
import type { Health } from '../health/index.ts'
import type { KeySuccession } from '../key-succession/index.ts'
import type { GrantedPatterns } from './granted-patterns.ts'

export interface DashboardParts extends Pick<Core, 'clock' | 'database' | 'network' | 'operators' | 'signing'> {
  readonly settings: Pick<AuthoritySettings, 'publicAttestationList' | 'publicUrl'>
  readonly boundary: Boundary
  readonly boundaryPolicies: BoundaryPolicies
  readonly connectome: Connectome
  readonly enrollment: Enrollment
  readonly health: Health
  readonly keySuccession: KeySuccession
}

/** What the routes use, with the state of the feature. */
export interface DashboardState extends DashboardParts {
  readonly granted: GrantedPatterns
}

/** A minute without a count is null, so that downtime does not appear as a network without nodes. */
export type Activity = {
  /** The first minute; null before the first count. */
  readonly since: string | null
  readonly step_seconds: 60
  readonly active: readonly (number | null)[]
  readonly tracked: readonly (number | null)[]
}

export interface ActivityReading {
  readonly activity: Activity
  /** Number of certificates that ended within the day before the last count. Null before the first count. */
  readonly expiring: number | null
}

/** Counts the nodes once a minute; several instances write one row. Stores one day at most. */
export async function recordActivity(parts: DashboardParts): Promise<void> {
  const { database } = parts
  const now = parts.clock.now()
  const [active, { tracked }, expiring] = await Promise.all([
    parts.enrollment.count.read(),
    parts.enrollment.certificates.read(),
    countExpiring(database.read, now, now + DAY),
  ])
  const minute = writeSortable(startOfMinute(now))
  await database.write((tx) => insertMinute(tx, { minute, active, tracked, expiring }))
  await database.write((tx) => deleteMinutesBefore(tx, writeSortable(oldestShown(now))))
}

/** The last day, one slot for every minute. */
export async function readActivity(parts: DashboardParts): Promise<ActivityReading> {
  const now = parts.clock.now()
  const rows = await listMinutes(parts.database.read, writeSortable(oldestShown(now)), writeSortable(now))
  const [first, last] = [rows[0], rows.at(-1)]
  if (first === undefined || last === undefined)
    return { activity: { since: null, step_seconds: 60, active: [], tracked: [] }, expiring: null }
  const since = readInstant(first.minute) ?? now
  const places = placesOf(rows, since)
  return {
    activity: {
      since: writeInstant(since),
      step_seconds: 60,
      active: places.map((row) => row?.active ?? null),
      tracked: places.map((row) => row?.tracked ?? null),
    },
    expiring: last.expiring,
  }
}

function placesOf(rows: readonly ActivityMinute[], since: Instant): readonly (ActivityMinute | undefined)[] {
  const byPosition = new Map(rows.map((row) => [Number(((readInstant(row.minute) ?? since) - since) / MINUTE), row]))
  const last = Math.max(...byPosition.keys())
  return Array.from({ length: last + 1 }, (_, place) => byPosition.get(place))
}

function startOfMinute(now: Instant): Instant {
  return now - (now % MINUTE)
}

/** 1440 minutes including the current one. */
function oldestShown(now: Instant): Instant {
  return startOfMinute(now) - DAY + MINUTE
}
