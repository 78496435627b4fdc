import { isCapabilityPattern } from '../boundary/selector.ts'
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
 * Whether a scope may be issued: a capability list must be one. `delegation` is reserved: recognition is not transitive,
 * and a treaty must not state otherwise.
 */
export function isIssuableScope(scope: Pick<TreatyScope, 'claims'>): boolean {
  if (Object.hasOwn(scope.claims, 'delegation')) return false
  return !Object.hasOwn(scope.claims, 'capabilities') || treatyCapabilities(scope) !== null
}
