import { FormError, shape } from '@chancery/protocol'
import type { JsonValue } from '@chancery/protocol'
import { known } from '../answer.ts'

/** Asks what a revocation would change; nothing is changed or written down. */
export interface DryRun {
  readonly dryRun: true
}

export interface RealRun {
  readonly dryRun?: false
}

/** How many, and some of them by name. A type, not an interface: it is JSON and may be passed on as such. */
export type Counted = {
  readonly count: number
  readonly sample: readonly string[]
}

const readParts = known({
  count: shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER)),
  sample: shape.required(shape.arrayOf(shape.string, { max: 1000 })),
})

export function readCounted(value: JsonValue, place: string): Counted {
  return readParts(value, place)
}

/** Insisted on: an authority that does not know dry runs may have carried the revocation out. */
export function isDryRun(value: JsonValue, place: string): true {
  if (value !== true) throw new FormError(place, 'must be true')
  return true
}
