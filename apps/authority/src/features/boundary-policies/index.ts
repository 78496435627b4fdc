import type { Feature } from '../../core.ts'
import { SerialQueue } from '@chancery/service-kit'
import { openActivePolicies } from './active-set.ts'
import type { ActivePolicies } from './active-set.ts'
import type { BoundaryPoliciesParts } from './parts.ts'
import { describePolicySet } from './policy-health.ts'
import type { PolicySetView } from './policy-health.ts'
import { boundaryPolicyRoutes } from './routes.ts'

export type { PolicySetView } from './policy-health.ts'

export interface BoundaryPolicies extends Feature {
  /** The active policies, compared with their stored bytes at each request. */
  readonly active: ActivePolicies
  describe(): Promise<PolicySetView>
}

export function openBoundaryPolicies(parts: BoundaryPoliciesParts): BoundaryPolicies {
  const active = openActivePolicies(parts)
  const own = { ...parts, active, queue: new SerialQueue() }
  return {
    routes: boundaryPolicyRoutes(own),
    jobs: [],
    active,
    describe: () => describePolicySet(own),
    close: () => Promise.resolve(),
  }
}
