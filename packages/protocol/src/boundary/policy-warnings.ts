import type { BoundaryPolicyIntent } from '../artifacts/boundary-policy.ts'

/** What an author of a policy should know although the policy is valid. */
export type PolicyWarning = { readonly code: 'parent_kind_may_be_omitted'; readonly message: string }

/**
 * A selector by parent_kinds rests on what the caller of an agreement decision says, and a kind that is left out counts
 * as direct: a policy for `agreement` alone does not bind such a request. The kind attestation is not the caller's word.
 */
export function findPolicyWarnings({ selector }: BoundaryPolicyIntent): readonly PolicyWarning[] {
  const said = selector.parent_kinds.filter((kind) => kind !== 'attestation')
  if (said.length === 0) return []
  const effect = said.includes('direct') ? 'and is selected as such' : 'and is not selected'
  return [
    {
      code: 'parent_kind_may_be_omitted',
      message: `parent_kinds: a request that leaves parent_kind out counts as direct ${effect}; NA_REQUIRE_PARENT_KIND=on refuses the omission`,
    },
  ]
}
