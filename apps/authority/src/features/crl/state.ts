import type { EntriesCache } from './entries-cache.ts'
import type { ListBuilder } from './list-builder.ts'
import type { CrlParts } from './parts.ts'

/** The parts of the feature and its own state. */
export interface CrlState extends CrlParts {
  /** So that the next version only appends to the last one. */
  readonly entries: EntriesCache
  /** Builds large lists in a thread. */
  readonly builder: ListBuilder
}
