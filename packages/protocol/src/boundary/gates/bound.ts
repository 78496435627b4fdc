import type { JsonObject, JsonValue } from '../../canonical/json-value.ts'
import type { FactPath } from '../facts.ts'
import { compareNumbers, numberOf } from '../scalar.ts'
import { type FactVerdict, MISSING, type ReadyGate, isAbsent, overFact } from './gate.ts'

/** A number on one side of a bound; the bound itself counts when it is inclusive. */
export interface Bound {
  readonly path: FactPath
  readonly limit: JsonValue
  readonly inclusive: boolean
  /** -1 when numbers below the limit pass, 1 when those above do. */
  readonly side: -1 | 1
}

export function boundGate(bound: Bound, condition: JsonObject): ReadyGate {
  const limit = numberOf(bound.limit) ?? Number.NaN
  return overFact(bound.path, condition, (fact): FactVerdict => {
    if (isAbsent(fact)) return MISSING
    const value = fact.value === undefined ? undefined : numberOf(fact.value)
    if (value === undefined) return ['invalid_context', 'the fact is not a number']
    const order = compareNumbers(value, limit)
    const isInside = order === bound.side || (order === 0 && bound.inclusive)
    return isInside ? ['pass', 'the number is within the limit'] : ['fail', 'the number is beyond the limit']
  })
}
