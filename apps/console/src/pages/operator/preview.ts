/** The effect of an action, computed before it runs. */
export interface Preview {
  readonly lines: readonly string[]
  /** Lost records and paths, for the drawing. */
  readonly impact?: Impact
}

/** The ending record, and everything affected by it. */
export interface Impact {
  /** Networks that lose a path, on the left; may be empty. */
  readonly sources: Reached
  readonly ends: string
  /** Networks and records that are no longer reached or accepted, on the right. */
  readonly lost: Reached
}

export interface Reached {
  readonly what: string
  readonly names: readonly string[]
  /** Total number; `names` contains some of them. */
  readonly count: number
}

export const SIGNED_OUT: Reached = { what: '', names: [], count: 0 }

export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

const NAMED = 8

/** Returns some names in brackets, for a sentence. */
export function named(names: readonly string[], count: number): string {
  return names.length === 0 ? '' : ` (${names.slice(0, NAMED).join(', ')}${count > NAMED ? ' …' : ''})`
}
