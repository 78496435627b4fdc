import type { AgentBatches } from './batches.ts'
import type { AgentsParts } from './parts.ts'

/** The parts of the feature and its own state. */
export interface AgentsState extends AgentsParts {
  /** Queued registrations share a transaction. */
  readonly batches: AgentBatches
}
