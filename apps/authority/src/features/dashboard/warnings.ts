import type { DashboardView } from './model.ts'

/** What may need somebody. */
export type Watched = Pick<
  DashboardView,
  | 'readiness'
  | 'signing_key'
  | 'revocation_list'
  | 'treaty_summary'
  | 'revocation_feed_summary'
  | 'boundary_policies'
  | 'recent_changes'
  | 'key_succession'
>

/** A new key takes its time: gateways have to be pinned with it first. */
const KEY_WARNING_DAYS = 30

/** Each says what is wrong and what to do about it, the most urgent first. */
export function findWarnings(watched: Watched): string[] {
  const { treaty_summary: treaties, revocation_feed_summary: feeds, boundary_policies: policies } = watched
  const out: string[] = []
  if (watched.readiness.status === 'not_ready')
    out.push('This instance is not ready: /readyz says which check fails, the log says why.')
  const { days_left: days, valid_to } = watched.signing_key
  if (days < KEY_WARNING_DAYS)
    out.push(
      `The key window of the genesis block ends ${valid_to}, ${days === 0 ? 'in less than a day or past' : `in ${count(days, 'day')}`}: sign a new one with chancery genesis succeed.`,
    )
  if (watched.revocation_list?.overdue === true)
    out.push(
      'The revocation list is past its next update: look at the crl-refresh job in /metrics and at the key window.',
    )
  if (!policies.healthy)
    out.push(
      `${count(policies.problem_count, 'problem')} in the active boundary policies: decisions are denied until they are mended.`,
    )
  if (treaties.warning_count > 0)
    out.push(`${treaties.warning_count} treaties are expired or end within 72 hours: renew or replace them.`)
  if (feeds.stale_count > 0)
    out.push(`${feeds.stale_count} revocation feeds were not imported for over 72 hours: import them again.`)
  if (watched.recent_changes.some((change) => change.details['differs_from_pinned'] === true))
    out.push('A revocation feed was imported under other keys than a treaty pins: check who vouched for them.')
  const { key_succession: succession } = watched
  if (succession !== undefined)
    out.push(
      `A key succession is ${succession.phase}: ${succession.nodes_with_new_block} of ${succession.nodes} nodes have the new block.`,
    )
  return out
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`
}
