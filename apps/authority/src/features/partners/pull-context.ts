import type { Findings } from './findings.ts'
import type { AcceptedKeys } from './pin.ts'
import type { ReadFrom } from './read-document.ts'
import type { PullingParts } from './state.ts'

/** A pull under way. */
export interface Pull {
  readonly parts: PullingParts
  readonly sovereign_id: string
  readonly isImporting: boolean
  /** The claim under which the pull runs. */
  readonly token: string
  readonly read: ReadFrom
  readonly keys: AcceptedKeys
  /** Highest sequences that were seen under this pin. */
  readonly seen: ReadonlyMap<string, number>
  readonly findings: Findings
  /** Feed parts may take longer. */
  allowParts(): void
}

export const SMALL_BYTES = 262_144

/** Of a feed, and of a list of certificates. */
export const LIST_BYTES = 16_777_216
