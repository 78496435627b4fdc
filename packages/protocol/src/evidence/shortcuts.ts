import { asPlainEntry } from '../artifacts/evidence-store-entry.ts'
import { plainLength } from '../canonical/plain-length.ts'
import { cutSignature, splitDecision } from './plain-text.ts'

/**
 * Faster ways to the same result, for those who verify millions of lines. Given as a value, so that the small bundles
 * of the client library do not contain them.
 */
export interface LineShortcuts {
  readonly plainLength: typeof plainLength
  readonly asPlainEntry: typeof asPlainEntry
  readonly cutSignature: typeof cutSignature
  readonly splitDecision: typeof splitDecision
}

export const lineShortcuts: LineShortcuts = { plainLength, asPlainEntry, cutSignature, splitDecision }
