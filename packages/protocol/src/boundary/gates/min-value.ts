import type { Read } from '../../reading/schema.ts'
import { boolean, closed, required, withDefault } from '../../reading/shape.ts'
import { boundGate } from './bound.ts'
import { type GateType, factPath, finiteNumber, readConfig } from './gate.ts'

const shape = closed({
  path: required(factPath),
  min: required(finiteNumber),
  inclusive: withDefault(boolean, true),
})
export const minValueConfig: Read<unknown> = shape

/** The number must not stay below `min`. */
export const minValue: GateType = {
  name: 'min_value.v1',
  prepare(config) {
    const { min, ...given } = readConfig(shape, config)
    const condition = { operator: given.inclusive ? '>=' : '>', min }
    return boundGate({ ...given, limit: min, side: 1 }, condition)
  },
}
