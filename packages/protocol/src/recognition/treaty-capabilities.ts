import { isCapabilityPattern } from '../boundary/selector.ts'
import { overlaps, treatyBudgets } from '../budgets/treaty-budgets.ts'
import { member } from '../canonical/utf8.ts'
import type { TreatyScope } from '../artifacts/recognition-treaty.ts'

const MAX_PATTERNS = 256

/**
 * The capabilities that a treaty grants in decisions: exact ones, or patterns such as `ledger.*`. Null when the treaty
 * has no such list, and then it grants none.
 */
export function treatyCapabilities({ claims }: Pick<TreatyScope, 'claims'>): readonly string[] | null {
  const listed = member(claims, 'capabilities')
  const isList =
    Array.isArray(listed) &&
    listed.length > 0 &&
    listed.length <= MAX_PATTERNS &&
    listed.every((entry) => typeof entry === 'string' && isCapabilityPattern(entry))
  return isList ? (listed as string[]) : null
}

/**
 * What a treaty grants: its list, and up to their limits the capabilities of its budgets. Null when it grants nothing,
 * also when its budgets have a form that cannot be read.
 */
export function grantedCapabilities(scope: Pick<TreatyScope, 'claims'>): readonly string[] | null {
  const [listed, budgets] = [treatyCapabilities(scope), treatyBudgets(scope)]
  if (budgets === null) return null
  const limited = budgets.flatMap(({ capabilities }) => capabilities)
  return listed === null && limited.length === 0 ? null : [...(listed ?? []), ...limited]
}

/**
 * Whether a scope may be issued: capabilities and budgets have their forms, and no capability is granted by both, once
 * without a limit. `delegation` is reserved: recognition is not transitive, and a treaty must not state otherwise.
 */
export function isIssuableScope(scope: Pick<TreatyScope, 'claims'>): boolean {
  const { claims } = scope
  if (Object.hasOwn(claims, 'delegation')) return false
  const [listed, budgets] = [treatyCapabilities(scope), treatyBudgets(scope)]
  if ((Object.hasOwn(claims, 'capabilities') && listed === null) || budgets === null) return false
  const limited = budgets.flatMap(({ capabilities }) => capabilities)
  return !(listed ?? []).some((pattern) => limited.some((other) => overlaps(pattern, other)))
}
