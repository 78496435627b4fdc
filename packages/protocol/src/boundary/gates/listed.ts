import { arrayOf, closed, required } from '../../reading/shape.ts'
import type { Read } from '../../reading/read.ts'
import type { Fact, FactPath } from '../facts.ts'
import { type Scalar, equalScalars, isScalar } from '../scalar.ts'
import { type FactVerdict, MISSING, factPath, scalar } from './gate.ts'

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
