import type { EnrollmentBatches } from './batches.ts'
import type { EnrollmentParts } from './parts.ts'

/** The parts of the feature and its own state. */
export interface EnrollmentState extends EnrollmentParts {
  /** Queued joins and heartbeats share a transaction. */
  readonly batches: EnrollmentBatches
}
