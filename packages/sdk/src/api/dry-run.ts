import { FormError, type JsonValue, shape } from '@chancery/protocol'
import { known } from '../http/read-response.ts'

/** Previews a revocation; nothing is changed or audited. */
export interface DryRun {
  readonly dryRun: true
}

export interface RealRun {
  readonly dryRun?: false
}

/** The number, and some of them by name. A type, not an interface: it is JSON and may be sent as such. */
export type CountedSample = {
  readonly count: number
  readonly sample: readonly string[]
}

const readParts = known({
  count: shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER)),
  sample: shape.required(shape.arrayOf(shape.string, { max: 1000 })),
})

export function readCounted(value: JsonValue, place: string): CountedSample {
  return readParts(value, place)
}

/** Required: an authority without support for dry runs may have carried out the revocation. */
export function isDryRun(value: JsonValue, place: string): true {
  if (value !== true) throw new FormError(place, 'must be true')
  return true
}
