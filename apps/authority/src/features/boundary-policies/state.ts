import type { SerialQueue } from '@chancery/service-kit'
import type { ActivePolicies } from './active-set.ts'
import type { BoundaryPoliciesParts } from './parts.ts'

/** The parts of the feature and its own state. */
export interface BoundaryPoliciesState extends BoundaryPoliciesParts {
  /** The boundary policies in force, checked against their stored bytes at each question. */
  readonly active: ActivePolicies
  /** Changes of boundary policies, one after the other. */
  readonly queue: SerialQueue
}
