import type { OfferedTreaty } from './check-treaties.ts'
import { PULL_OUTCOMES } from '../../metrics.ts'
import type { Outcome } from './step-failure.ts'
import type { StoredFacts } from './stored-facts.ts'

export type AlarmKind = 'equivocation' | 'rollback' | 'sequence_jump' | 'key_history_changed' | 'import_capacity'
export type Material = 'feed' | 'crl' | 'treaty' | 'key_history'

export interface NewAlarm {
  readonly kind: AlarmKind
  readonly material: Material
  readonly sequence: number | null
  readonly held_digest: string | null
  /** Undefined: the stored text of the material. */
  readonly held_text?: string | null
  readonly offered_digest: string | null
  readonly offered_text: string | null
}

export interface OfferedTreaties {
  readonly treaties: readonly OfferedTreaty[]
  readonly refused: number
  readonly truncated: boolean
}

/** What a pull found. It is stored in one transaction. */
export interface Findings {
  facts: StoredFacts
  readonly outcomes: Outcome[]
  readonly changed: string[]
  readonly alarms: NewAlarm[]
  readonly texts: Map<'feed' | 'crl' | 'key_history', string | null>
  /** What was read, accepted or not. Null when it is too long to store. */
  readonly offered: Map<'feed' | 'crl', string | null>
  readonly sequences: Map<'feed' | 'crl', number>
  keyChanged: boolean
  treaties: OfferedTreaties | undefined
}

/** The most serious one. Without a failure it is `ok` when something is new. */
export function worstOf({ outcomes, changed }: Pick<Findings, 'outcomes' | 'changed'>): Outcome {
  const worst = outcomes.reduce<number>((most, outcome) => Math.max(most, PULL_OUTCOMES.indexOf(outcome)), 0)
  if (worst > PULL_OUTCOMES.indexOf('unchanged')) return PULL_OUTCOMES[worst] ?? 'store_failed'
  return changed.length > 0 ? 'ok' : 'unchanged'
}
