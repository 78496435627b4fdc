import { DAY, findSetProblems, instantOf } from '@chancery/protocol'
import type { CheckedPolicy, Instant } from '@chancery/protocol'
import { bad, good, warn } from '@chancery/service-kit'
import type { Finding } from '@chancery/service-kit'
import { countOf } from './check-partners.ts'

/** Writing, testing and publishing the next version takes days. */
const ENDING_WITHIN = 14n * DAY

/** Checks that the policies in force can decide, and for how long. */
export function checkPolicies(policies: readonly CheckedPolicy[], now: Instant): readonly Finding[] {
  const problems = findSetProblems(policies, now)
  const ending = policies.flatMap((policy) => checkEnd(policy, now))
  if (problems.length > 0) return [policyProblems(problems.length, problems[0]?.policy), ...ending]
  return [good('policies', `${policies.length} in force`), ...ending]
}

/** `first` is the id and version of one policy with a problem. */
export function policyProblems(count: number, first?: string): Finding {
  return bad(
    'policies',
    `${countOf(count, 'problem')} in the active boundary policies`,
    'Find the cause with chancery boundary-policy list, then publish a new version.',
    {
      effect: 'All decisions are denied until you fix them.',
      ...(first === undefined ? {} : { about: first.replace(/@\d+$/, '') }),
    },
  )
}

function checkEnd({ policy_id, policy }: CheckedPolicy, now: Instant): readonly Finding[] {
  if (policy === undefined) return []
  const left = instantOf(policy.valid_until) - now
  if (left <= 0n || left >= ENDING_WITHIN) return []
  return [
    warn(
      'policy-end',
      `The policy ${policy_id} ends ${policy.valid_until}`,
      'Publish and activate its next version: chancery boundary-policy publish.',
      { effect: 'Then all decisions are denied.', about: policy_id, at: policy.valid_until },
    ),
  ]
}
