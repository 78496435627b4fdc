import type { Read } from '../../reading/read.ts'
import { closed, required } from '../../reading/shape.ts'
import { type GateType, MISSING, factPath, isAbsent, overFact, readConfig } from './gate.ts'

const shape = closed({ path: required(factPath) })
export const requiredParameterConfig: Read<unknown> = shape

/** The fact must be there; false, 0 and empty values are there. */
export const requiredParameter: GateType = {
  name: 'required_parameter.v1',
  prepare(config) {
    const { path } = readConfig(shape, config)
    return overFact(path, { required: path.text }, (fact) =>
      isAbsent(fact) ? MISSING : ['pass', 'the fact is present'],
    )
  },
}
