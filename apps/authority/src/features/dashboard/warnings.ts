import type { Finding } from '@chancery/service-kit'
import { denialFindings, partnerFindings, policyProblems } from '../findings/index.ts'
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
  if (!policies.healthy) out.push(toWarning(policyProblems(policies.problem_count)))
  if (treaties.warning_count > 0)
    out.push(
      treaties.warning_count === 1
        ? '1 treaty is expired or ends within 72 hours: renew or replace it.'
        : `${treaties.warning_count} treaties are expired or end within 72 hours: renew or replace them.`,
    )
  if (feeds.stale_count > 0)
    out.push(`${feeds.stale_count} revocation feeds were not imported for over 72 hours: import them again.`)
  out.push(...partnerFindings(watched.partners, watched.outdatedTreaties).map(toWarning))
  out.push(...denialFindings(watched.deniedForFreshness).map(toWarning))
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

/** One line for the public page, in the words of doctor. */
function toWarning({ found, effect, fix = '' }: Finding): string {
  const next = effect ?? fix
  return `${found}: ${next.charAt(0).toLowerCase()}${next.slice(1)}`
}

function count(number: number, word: string, many = `${word}s`): string {
  return `${number} ${number === 1 ? word : many}`
}
