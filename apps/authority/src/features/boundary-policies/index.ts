import { boundaryPolicies } from '@chancery/contract'
import type { Feature } from '../../core.ts'
import { SerialQueue } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import { activate } from './activate.ts'
import { openActivePolicies } from './active-set.ts'
import type { ActivePolicies } from './active-set.ts'
import { active } from './active.ts'
import { deactivate } from './deactivate.ts'
import { history } from './history.ts'
import { list } from './list.ts'
import type { BoundaryPoliciesParts } from './parts.ts'
import { describePolicySet } from './policy-health.ts'
import type { PolicySetView } from './policy-health.ts'
import { publish } from './publish.ts'
import { simulate } from './simulate.ts'
import { validate } from './validate.ts'
import { verify } from './verify.ts'

export { openActivePolicies } from './active-set.ts'
export type { PolicySetView } from './policy-health.ts'

export interface BoundaryPolicies extends Feature {
  /** The active policies, compared with their stored bytes at each request. */
  readonly active: ActivePolicies
  describe(): Promise<PolicySetView>
}

export function openBoundaryPolicies(parts: BoundaryPoliciesParts): BoundaryPolicies {
  const own = { ...parts, active: openActivePolicies(parts), queue: new SerialQueue() }
  return {
    routes: [
      bind(boundaryPolicies.validate, (call) => validate(call, own)),
      bind(boundaryPolicies.simulate, (call) => simulate(call, own)),
      bind(boundaryPolicies.publish, (call) => publish(call, own)),
      bind(boundaryPolicies.activate, (call) => activate(call, own)),
      bind(boundaryPolicies.deactivate, (call) => deactivate(call, own)),
      bind(boundaryPolicies.list, (call) => list(call, own)),
      bind(boundaryPolicies.active, (call) => active(call, own)),
      bind(boundaryPolicies.history, (call) => history(call, own)),
      bind(boundaryPolicies.verify, (call) => verify(call, own)),
    ],
    jobs: [],
    active: own.active,
    describe: () => describePolicySet(own),
    close: () => Promise.resolve(),
  }
}
