import type { EvidenceAppender } from './appender.ts'
import type { EvidenceParts } from './parts.ts'

/** The parts of the feature and its own state. */
export interface EvidenceState extends EvidenceParts {
  /** Records that wait for the evidence chain share a transaction. */
  readonly appender: EvidenceAppender
}
