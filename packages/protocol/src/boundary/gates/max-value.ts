import type { Read } from '../../reading/read.ts'
import { boolean, closed, required, withDefault } from '../../reading/shape.ts'
import { boundGate } from './bound.ts'
import { type GateType, factPath, finiteNumber, readConfig } from './gate.ts'

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
