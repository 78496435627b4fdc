import type { EntriesCache } from './entries-cache.ts'
import type { CrlParts } from './parts.ts'

/** The parts of the feature and its own state. */
export interface CrlState extends CrlParts {
  /** So that the next version only appends to the last one. */
  readonly entries: EntriesCache
}
