import { type GateType, overFact, readConfig } from './gate.ts'
import { checkListed, listConfig } from './listed.ts'

/** The value must be none of those listed; leaving it out does not get around the list. */
export const denylist: GateType = {
  name: 'denylist.v1',
  prepare(config) {
    const { path, values } = readConfig(listConfig, config)
    return overFact(path, { denied: values }, (fact) =>
      checkListed(fact, values, (isListed) =>
        isListed ? ['fail', 'the value is one of those denied'] : ['pass', 'the value is not denied'],
      ),
    )
  },
}
