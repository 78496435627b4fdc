import { type GateType, overFact, readConfig } from './gate.ts'
import { checkListed, listConfig } from './listed.ts'

/** The value must be one of those listed. */
export const allowlist: GateType = {
  name: 'allowlist.v1',
  prepare(config) {
    const { path, values } = readConfig(listConfig, config)
    return overFact(path, { allowed: values }, (fact) =>
      checkListed(fact, values, (isListed) =>
        isListed ? ['pass', 'the value is allowed'] : ['fail', 'the value is not one of those allowed'],
      ),
    )
  },
}
