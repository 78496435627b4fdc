import type { EnrollmentBatches } from './batches.ts'
import type { EnrollmentParts } from './parts.ts'

/** The parts of the feature and its own state. */
export interface EnrollmentState extends EnrollmentParts {
  /** Joins and heartbeats that wait share a transaction. */
  readonly batches: EnrollmentBatches
}
