import type { ListedPartner, TreatyRow } from '@chancery/sdk/authority'
import type { ShapeName, Tone } from '../../parts/icons.ts'
import { duration } from '../../parts/duration.ts'

const HOUR_MS = 3_600_000
const ENDING_MS = 72 * HOUR_MS
const URGENT_MS = 24 * HOUR_MS

export interface FeedRow {
  readonly issuer_sovereign_id: string
  readonly sequence: number
  readonly revoked_count: number
  readonly imported_at: string
  readonly age_hours: number
  readonly freshness: 'fresh' | 'watch' | 'stale'
  readonly complete: boolean
}

export interface ShownState {
  readonly shape: ShapeName
  readonly tone: Tone
  readonly word: string
}

/** One other network: the treaty that matters now, the imported feed, and what the authority reads of it. */
export interface PartnerRow {
  readonly id: string
  readonly label: string | null
  readonly treaty: TreatyRow | undefined
  readonly feed: FeedRow | undefined
  readonly listed: ListedPartner | undefined
  readonly state: ShownState
}

export const isInForce = ({ lifecycle }: TreatyRow): boolean =>
  lifecycle.state === 'active' || lifecycle.state === 'expiring_soon'

/** Returns the treaty that counts: in force with the latest end, or else the one issued last. */
export function currentTreaty(treaties: readonly TreatyRow[]): TreatyRow | undefined {
  const inForce = treaties.filter(isInForce)
  const of = inForce.length > 0 ? inForce : treaties
  const key = ({ treaty }: TreatyRow): string => (inForce.length > 0 ? treaty.expires_at : treaty.issued_at)
  return of.toSorted((a, b) => key(a).localeCompare(key(b))).at(-1)
}

/** Returns the treaty that the address names, or the one that counts without a name. None when it is not listed. */
export const namedTreaty = (treaties: readonly TreatyRow[], id: string | null): TreatyRow | undefined =>
  id === null ? currentTreaty(treaties) : treaties.find(({ treaty }) => treaty.treaty_id === id)

/** Makes one row for each network that has a treaty or is read, the most urgent first. */
export function partnerRows(
  treaties: readonly TreatyRow[],
  partners: readonly ListedPartner[],
  feeds: readonly FeedRow[],
  nowMs: number,
): readonly PartnerRow[] {
  const byPartner = Map.groupBy(treaties, ({ treaty }) => treaty.subject_sovereign_id)
  const ids = new Set([...byPartner.keys(), ...partners.map(({ sovereign_id }) => sovereign_id)])
  const rows = [...ids].map((id): PartnerRow => {
    const treaty = currentTreaty(byPartner.get(id) ?? [])
    const feed = feeds.find((row) => row.issuer_sovereign_id === id)
    const listed = partners.find((row) => row.sovereign_id === id)
    return { id, label: listed?.label ?? null, treaty, feed, listed, state: stateOf(treaty, feed, listed, nowMs) }
  })
  return rows.toSorted(
    (a, b) =>
      ORDER.indexOf(a.state.tone) - ORDER.indexOf(b.state.tone) || endOf(a) - endOf(b) || (a.id < b.id ? -1 : 1),
  )
}

const ORDER: readonly Tone[] = ['bad', 'urgent', 'watch', 'good', 'ended']
const endOf = ({ treaty }: PartnerRow): number => Date.parse(treaty?.treaty.expires_at ?? '9999-12-31T00:00:00Z')

/** The worst of alarm, treaty and feed. */
export function stateOf(
  treaty: TreatyRow | undefined,
  feed: FeedRow | undefined,
  listed: ListedPartner | undefined,
  nowMs: number,
): ShownState {
  if (listed?.state === 'alarm') return { shape: 'square', tone: 'bad', word: 'Alarm' }
  if (treaty === undefined) return { shape: 'dash', tone: 'ended', word: 'No treaty' }
  if (!isInForce(treaty)) return treatyState(treaty, nowMs)
  const end = treatyState(treaty, nowMs)
  if (end.tone !== 'good') return end
  if (listed?.state === 'stale') return { shape: 'triangle', tone: 'watch', word: 'Not reached' }
  if (feed !== undefined && feed.freshness !== 'fresh') return { shape: 'triangle', tone: 'watch', word: 'Feed is old' }
  return { shape: 'circle', tone: 'good', word: 'In order' }
}

/** The state of one treaty. Its end is urgent in the last 24 hours. */
export function treatyState({ treaty, lifecycle }: TreatyRow, nowMs: number): ShownState {
  if (lifecycle.state === 'revoked') return { shape: 'cross', tone: 'ended', word: 'Ended' }
  if (lifecycle.state === 'replaced') return { shape: 'dash', tone: 'ended', word: 'Replaced' }
  return endState(treaty.expires_at, nowMs)
}

export function endState(expires_at: string, nowMs: number): ShownState {
  const left = Date.parse(expires_at) - nowMs
  if (left <= 0) return { shape: 'dash', tone: 'ended', word: 'Expired' }
  if (left > ENDING_MS) return { shape: 'circle', tone: 'good', word: 'In force' }
  return { shape: 'half', tone: left < URGENT_MS ? 'urgent' : 'watch', word: `Ends in ${duration(left)}` }
}

export interface RowFilter {
  readonly q: string
  readonly state: string
  readonly role: string
}

export function filterRows(rows: readonly PartnerRow[], { q, state, role }: RowFilter): readonly PartnerRow[] {
  const text = q.toLowerCase()
  return rows.filter(
    ({ id, label, treaty, state: { tone } }) =>
      (text === '' ||
        [id, label ?? '', treaty?.treaty.treaty_id ?? ''].some((each) => each.toLowerCase().includes(text))) &&
      (state === '' || (state === 'watch' ? tone !== 'good' && tone !== 'ended' : tone === state)) &&
      (role === '' || treaty?.treaty.scope.allowed_roles.includes(role) === true),
  )
}
