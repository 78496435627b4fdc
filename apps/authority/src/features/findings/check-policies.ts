import { CEDAR_PACKAGE, type CheckedPolicy, DAY, type Instant, findSetProblems, instantOf } from '@chancery/protocol'
import { type Finding, bad, good, warn } from '@chancery/service-kit'
import type { CedarState } from '../boundary-policies/index.ts'
import { countOf } from './check-partners.ts'

/** Writing, testing and publishing the next version takes days. */
const ENDING_WITHIN = 14n * DAY

/** Checks that the policies in force can decide, and for how long. */
export async function checkPolicies(
  policies: readonly CheckedPolicy[],
  now: Instant,
  probeCedar: () => Promise<CedarState>,
): Promise<readonly Finding[]> {
  const problems = findSetProblems(policies, now)
  const others = [...policies.flatMap((policy) => checkEnd(policy, now)), ...(await checkCedar(policies, probeCedar))]
  if (problems.length > 0) return [policyProblems(problems.length, problems[0]?.policy), ...others]
  return [good('policies', `${policies.length} in force`), ...others]
}

/** Cedar is loaded only when a policy needs it. */
async function checkCedar(
  policies: readonly CheckedPolicy[],
  probeCedar: () => Promise<CedarState>,
): Promise<readonly Finding[]> {
  const asking = policies.flatMap(({ policy_id, policy }) => {
    const modes = (policy?.gates ?? []).flatMap(({ gate_type, mode }) => (gate_type === 'cedar.v1' ? [mode] : []))
    return modes.length === 0 ? [] : [{ policy_id, isEnforced: modes.includes('enforce') }]
  })
  const state = asking.length === 0 ? undefined : await probeCedar()
  if (state === undefined) return []
  if (state === 'ready') return [good('policy-cedar', 'Cedar is ready')]
  const isMissing = state === 'missing'
  const problem = isMissing ? 'the package of Cedar is not installed' : 'Cedar cannot be started'
  const fix = isMissing
    ? `Install it next to the authority and restart: npm install ${CEDAR_PACKAGE}`
    : 'The authority tries again after 30 seconds. Check memory, open files and the installation of the package.'
  return asking.map(({ policy_id, isEnforced }) => {
    const found = `The policy ${policy_id} has Cedar gates, and ${problem}`
    return isEnforced
      ? bad('policy-cedar', found, fix, { effect: 'Every request under this policy is denied.', about: policy_id })
      : warn('policy-cedar', found, fix, { effect: 'Its gates in observe mode have no result.', about: policy_id })
  })
}

/** `first` is the id and version of one policy with a problem. */
export function policyProblems(count: number, first?: string): Finding {
  return bad(
    'policies',
    `${countOf(count, 'problem')} in the active boundary policies`,
    'Find the cause with chancery policy list, then publish a new version.',
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
      'Publish and activate its next version: chancery policy publish.',
      { effect: 'Then all decisions are denied.', about: policy_id, at: policy.valid_until },
    ),
  ]
}
