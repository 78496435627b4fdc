import type { NodeCounter } from './node-counter.ts'
import type { RosterParts } from './parts.ts'

/** The parts of the feature and its own state. */
export interface RosterState extends RosterParts {
  readonly counter: NodeCounter
}
