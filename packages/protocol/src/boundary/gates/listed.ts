import { arrayOf, closed, required, string } from '../../reading/shape.ts'
import type { Read } from '../../reading/schema.ts'
import type { Fact, FactPath } from '../facts.ts'
import { type Scalar, equalScalars, isScalar } from '../engine-question.ts'
import { type FactVerdict, type GateType, MISSING, factPath, isAbsent, overFact, readConfig, scalar } from './gate.ts'

export const MAX_LISTED = 256

/** The config allowlist and denylist share. */
export const listConfig: Read<{ readonly path: FactPath; readonly values: readonly Scalar[] }> = closed({
  path: required(factPath),
  values: required(arrayOf(scalar, { min: 1, max: MAX_LISTED })),
})

/** Null is a value a list can name, so only a missing fact is missing here. */
export function checkListed(
  fact: Fact,
  values: readonly Scalar[],
  checkFact: (isListed: boolean) => FactVerdict,
): FactVerdict {
  if (fact.value === undefined) return MISSING
  const value = comparable(fact)
  if (value === undefined) return ['invalid_context', 'the fact is not a single value']
  return checkFact(values.some((listed) => equalScalars(listed, value)))
}

/** The fact as a scalar; undefined for lists, objects and timestamps, which nothing is equal to. */
export function comparable({ value, type }: Fact): Scalar | undefined {
  return value === undefined || type === 'timestamp' || !isScalar(value) ? undefined : value
}

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
