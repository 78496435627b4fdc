import type { PolicySimulation } from '@chancery/sdk'
import type { DiffLine } from './diff.ts'

/** What would happen, before it happens. */
export interface Preview {
  readonly lines: readonly string[]
  /** What it takes away, drawn. */
  readonly impact?: Impact
  /** A text as it is in force and as it would be. */
  readonly diff?: readonly DiffLine[]
  readonly simulation?: PolicySimulation
}

/** What ends in the middle, who loses something by it around. */
export interface Impact {
  /** Whose paths end here, to the left; may be empty. */
  readonly sources: Reached
  readonly ends: string
  /** What is no longer reached or accepted, to the right. */
  readonly lost: Reached
}

export interface Reached {
  readonly what: string
  readonly names: readonly string[]
  /** All of them; the names are some. */
  readonly count: number
}

export const SIGNED_OUT: Reached = { what: '', names: [], count: 0 }

export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

const NAMED = 8

/** Some names in brackets, for a sentence. */
export function named(names: readonly string[], count: number): string {
  return names.length === 0 ? '' : ` (${names.slice(0, NAMED).join(', ')}${count > NAMED ? ' …' : ''})`
}
