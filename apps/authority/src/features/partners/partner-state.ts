import { DAY, type Instant, SECOND, readInstant, seconds } from '@chancery/protocol'
import { type Pin, type StoredFacts, acceptedKeys, keysAt } from './stored-facts.ts'
import type { OwnTreaty, PartnerRow } from './queries/partners.ts'

export const STATES = ['alarm', 'paused', 'new', 'fresh', 'watch', 'stale'] as const
export type State = (typeof STATES)[number]

const FRESH_SECONDS = 900
const CLOCK_AHEAD: Instant = 300n * SECOND
const KEY_CHANGE_SHOWN = 7n * DAY
const GENESIS_ENDING = 14n * DAY

/** The first that applies (protocol/partners 5). */
export function stateOf(
  row: Pick<PartnerRow, 'open_alarms' | 'paused' | 'last_good_pull_at' | 'interval_seconds'>,
  now: Instant,
): State {
  if (row.open_alarms > 0) return 'alarm'
  if (row.paused === 1) return 'paused'
  if (row.last_good_pull_at === null) return 'new'
  const age = now - (readInstant(row.last_good_pull_at) ?? 0n)
  if (age <= freshFor(row)) return 'fresh'
  return age <= DAY ? 'watch' : 'stale'
}

/** 15 minutes, or three intervals when they are longer. */
function freshFor({ interval_seconds }: Pick<PartnerRow, 'interval_seconds'>): Instant {
  return seconds(Math.max(3 * interval_seconds, FRESH_SECONDS))
}

/** The last contact of a partner that is silent for too long. A paused partner is not asked. */
export function silentSince(
  row: Pick<PartnerRow, 'added_at' | 'interval_seconds' | 'last_good_pull_at' | 'paused'>,
  now: Instant,
): string | undefined {
  const since = row.last_good_pull_at ?? row.added_at
  return row.paused === 0 && now - (readInstant(since) ?? 0n) > freshFor(row) ? since : undefined
}

/** Why an operator should look at a partner. `treaties` are the own treaties in force for it. */
export function reasonsOf(
  row: Pick<PartnerRow, 'import_feeds'>,
  pin: Pin,
  facts: StoredFacts,
  treaties: readonly OwnTreaty[],
  now: Instant,
): readonly string[] {
  const { genesis, feed, crl } = facts
  const reasons: readonly (readonly [string, boolean])[] = [
    ['metadata_mismatch', facts.metadata_mismatch],
    ['clock_offset', facts.clock_offset],
    ['key_announced', announcedKey(facts) !== undefined],
    ['key_changed', hasNewKey(facts, now)],
    ['treaty_key_outdated', findOutdated(pin, facts, treaties, now).length > 0],
    ['feed_incomplete', facts.feed_too_large === true || (row.import_feeds === 1 && feed?.complete === false)],
    ['feed_old', feed !== undefined && !isRecent(feed.issued_at, now)],
    ['crl_old', crl !== undefined && now >= (readInstant(crl.next_update) ?? 0n)],
    ['treaties_truncated', facts.treaties?.truncated === true],
    ['edge_limit', facts.treaties?.limited === true],
    ['genesis_ending', genesis !== undefined && (readInstant(genesis.valid_to) ?? 0n) - now < GENESIS_ENDING],
  ]
  return reasons.flatMap(([reason, holds]) => (holds ? [reason] : []))
}

/** The next key of the partner, until it is in force. */
export function announcedKey({ succession, genesis }: StoredFacts): string | undefined {
  const next = succession?.announced?.public_key
  return next === genesis?.public_key ? undefined : next
}

/** Treaties that name none of the accepted keys: members under the current key are refused. */
export function findOutdated(
  pin: Pin,
  facts: StoredFacts,
  treaties: readonly OwnTreaty[],
  now: Instant,
): readonly OwnTreaty[] {
  const current = new Set(keysAt(acceptedKeys(pin, facts), now))
  if (current.size === 0) return []
  return treaties.filter(({ subject_public_keys: keys }) => !keys.some((key) => current.has(key)))
}

/** True for 7 days. */
export function hasNewKey(facts: StoredFacts, now: Instant): boolean {
  return isWithin(facts.key_changed_at, KEY_CHANGE_SHOWN, now)
}

function isWithin(at: string | undefined, span: Instant, now: Instant): boolean {
  return at !== undefined && now - (readInstant(at) ?? 0n) <= span
}

/** A date far ahead does not make a feed recent. */
function isRecent(issued_at: string, now: Instant): boolean {
  const at = readInstant(issued_at) ?? 0n
  return now - at <= DAY && at - now <= CLOCK_AHEAD
}
