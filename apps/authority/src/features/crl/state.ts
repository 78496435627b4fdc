import type { RevocationBatch } from './revocation-batch.ts'
import type { CrlParts } from './parts.ts'

/** The parts of the feature and its own state. */
export interface CrlState extends CrlParts {
  /** Revocations that wait share a version of the list. */
  readonly batch: RevocationBatch
}
