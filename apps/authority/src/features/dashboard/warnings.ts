import type { DashboardView } from './model.ts'

/** Inputs of the warnings. */
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
  | 'partners'
> & {
  /** Treaties in force that name none of the current keys of a partner. */
  readonly outdatedTreaties: readonly string[]
  /** Decisions of the last hour about members of partners, denied because no recent feed is imported. */
  readonly deniedForFreshness: number
}

/** A new key needs preparation, because gateways must pin it first. */
const KEY_WARNING_DAYS = 30

/** Returns the warnings, the most urgent first. Each names the problem and what to do. */
export function findWarnings(watched: Watched): string[] {
  const { treaty_summary: treaties, revocation_feed_summary: feeds, boundary_policies: policies } = watched
  const out: string[] = []
  if (watched.readiness.status === 'not_ready')
    out.push('This instance is not ready: /readyz names the failed check, the log has the cause.')
  const { days_left: days, valid_to } = watched.signing_key
  if (days < KEY_WARNING_DAYS)
    out.push(
      `The key window of the genesis block ends ${valid_to}, ${days === 0 ? 'in less than a day or past' : `in ${count(days, 'day')}`}: sign a new one with chancery genesis succeed.`,
    )
  if (watched.revocation_list?.overdue === true)
    out.push('The revocation list is past its next update: check the crl-refresh job in /metrics and the key window.')
  if (!policies.healthy)
    out.push(
      `${count(policies.problem_count, 'problem')} in the active boundary policies: all decisions are denied until you fix them.`,
    )
  if (treaties.warning_count > 0)
    out.push(
      treaties.warning_count === 1
        ? '1 treaty is expired or ends within 72 hours: renew or replace it.'
        : `${treaties.warning_count} treaties are expired or end within 72 hours: renew or replace them.`,
    )
  if (feeds.stale_count > 0)
    out.push(`${feeds.stale_count} revocation feeds were not imported for over 72 hours: import them again.`)
  out.push(...partnerWarnings(watched))
  if (watched.deniedForFreshness > 0)
    out.push(
      `${count(watched.deniedForFreshness, 'decision')} on members of partners denied in the last hour, because no recent revocation feed of the partner is imported: import it, or set import_feeds of the partner to on.`,
    )
  if (watched.recent_changes.some((change) => change.details['differs_from_pinned'] === true))
    out.push(
      'A revocation feed or a justification was verified under other keys than a treaty pins: check which operator supplied the keys.',
    )
  const { key_succession: succession } = watched
  if (succession !== undefined)
    out.push(
      `A key succession is ${succession.phase}: ${succession.nodes_with_new_block} of ${succession.nodes} nodes have the new block.`,
    )
  return out
}

const NAMED_TREATIES = 5

function partnerWarnings({ partners, outdatedTreaties }: Watched): readonly string[] {
  const { alarm, stale } = partners.states
  const shown = outdatedTreaties.slice(0, NAMED_TREATIES).map((id) => `chancery treaty replace ${id}`)
  const more = outdatedTreaties.length > NAMED_TREATIES ? `, and ${outdatedTreaties.length - NAMED_TREATIES} more` : ''
  return [
    ...(alarm > 0
      ? [`${count(alarm, 'partner')} with an alarm: find the cause with chancery partner list --state alarm.`]
      : []),
    ...(stale > 0
      ? [`${count(stale, 'partner')} not read for over 24 hours: see chancery partner list --state stale.`]
      : []),
    ...(shown.length > 0
      ? [
          `${count(outdatedTreaties.length, 'treaty', 'treaties')} without a current key of the partner, so its members are refused: run ${shown.join(', ')}${more}.`,
        ]
      : []),
  ]
}

function count(number: number, word: string, many = `${word}s`): string {
  return `${number} ${number === 1 ? word : many}`
}
