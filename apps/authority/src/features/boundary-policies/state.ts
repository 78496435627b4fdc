import type { SerialQueue } from '@chancery/service-kit'
import type { ActivePolicies } from './active-set.ts'
import type { GateEngines } from './gate-answers.ts'
import type { BoundaryPoliciesParts } from './parts.ts'

/** The parts of the feature and its own state. */
export interface BoundaryPoliciesState extends BoundaryPoliciesParts {
  /** The active boundary policies, compared with their stored bytes at each request. */
  readonly active: ActivePolicies
  /** Runs changes of boundary policies one after the other. */
  readonly queue: SerialQueue
  /** What the gates ask. */
  readonly engines: GateEngines
}
