import type { JsonObject, JsonValue } from '../../canonical/utf8.ts'
import type { FactPath } from '../facts.ts'
import { compareNumbers, numberOf } from '../engine-question.ts'
import { MISSING, factPath, finiteNumber, isAbsent, overFact, readConfig } from './gate.ts'
import type { FactVerdict, GateType, ReadyGate } from './gate.ts'
import type { Read } from '../../reading/schema.ts'
import { boolean, closed, required, withDefault } from '../../reading/shape.ts'

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

const shape = closed({
  path: required(factPath),
  max: required(finiteNumber),
  inclusive: withDefault(boolean, true),
})
export const maxValueConfig: Read<unknown> = shape

/** The number must not exceed `max`. */
export const maxValue: GateType = {
  name: 'max_value.v1',
  prepare(config) {
    const { max, ...given } = readConfig(shape, config)
    const condition = { operator: given.inclusive ? '<=' : '<', max }
    return boundGate({ ...given, limit: max, side: -1 }, condition)
  },
}
