import type { Read } from '../../reading/read.ts'
import { arrayOf, closed, required, string } from '../../reading/shape.ts'
import { type GateType, MISSING, factPath, isAbsent, overFact, readConfig } from './gate.ts'
import { MAX_LISTED } from './listed.ts'

const shape = closed({
  path: required(factPath),
  allowed: required(arrayOf(string, { min: 1, max: MAX_LISTED })),
})
export const scopeMembershipConfig: Read<unknown> = shape

/** Every item of the list must be allowed; an empty list asks for nothing and passes. */
export const scopeMembership: GateType = {
  name: 'scope_membership.v1',
  prepare(config) {
    const { path: at, allowed } = readConfig(shape, config)
    const words: ReadonlySet<unknown> = new Set(allowed)
    return overFact(at, { allowed }, (fact) => {
      if (isAbsent(fact)) return MISSING
      const items: unknown = fact.value
      const isList = Array.isArray(items) && items.every((item) => typeof item === 'string')
      if (!isList) return ['invalid_context', 'the fact is not a list of texts']
      return items.every((item) => words.has(item))
        ? ['pass', 'every item is allowed']
        : ['fail', 'an item is not one of those allowed']
    })
  },
}
