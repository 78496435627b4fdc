import type { Read } from '../../reading/schema.ts'
import { boolean, closed, required, withDefault } from '../../reading/shape.ts'
import { type GateType, MISSING, factPath, isAbsent, overFact, readConfig } from './gate.ts'

const shape = closed({ path: required(factPath), expected: withDefault(boolean, true) })
export const booleanRequiredConfig: Read<unknown> = shape

/** The fact must be this boolean; 1 and "true" are not. */
export const booleanRequired: GateType = {
  name: 'boolean_required.v1',
  prepare(config) {
    const { path: at, expected } = readConfig(shape, config)
    return overFact(at, { expected }, (fact) => {
      if (isAbsent(fact)) return MISSING
      if (typeof fact.value !== 'boolean') return ['invalid_context', 'the fact is not a boolean']
      return fact.value === expected ? ['pass', 'the fact is as expected'] : ['fail', 'the fact is not as expected']
    })
  },
}
