import type { GraphCache } from './graph-cache.ts'
import type { ConnectomeParts } from './parts.ts'

/** The parts of the feature and its own state. */
export interface ConnectomeState extends ConnectomeParts {
  /** The recognition graph in memory. */
  readonly graph: GraphCache
}
