import { DRY_RUN_SURFACE } from '@chancery/contract'
import { FormError, type JsonValue, shape } from '@chancery/protocol'
import { known } from '../http/read-response.ts'
import type { Call, Connection } from '../http/call.ts'
import { ResponseError, ChanceryError } from '../errors.ts'
import { sovereignApi } from './sovereign.ts'

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

/** The authority does not report support for dry runs, so none was sent: it might have executed the change. */
export class DryRunUnsupportedError extends ChanceryError {
  override readonly name: string = 'DryRunUnsupportedError'

  constructor() {
    super('This authority does not say that it knows dry runs, so none was sent')
  }
}

/**
 * Sends a dry run only to an authority that reports support for it (protocol/core 11.6). Another authority would ignore
 * the member and carry out the revocation. Checked each time, because an authority may be replaced.
 */
export async function preview<Answer>(connection: Connection, call: Call<Answer>): Promise<Answer> {
  const { supported_surfaces: surfaces } = await sovereignApi(connection).metadata(call.options)
  if (!Object.hasOwn(surfaces, DRY_RUN_SURFACE)) throw new DryRunUnsupportedError()
  try {
    return await connection.call(call)
  } catch (error) {
    if (!(error instanceof ResponseError)) throw error
    const { status, requestId } = error
    const problem = `${error.problem}. It is no answer to a dry run, so the withdrawal may have been carried out`
    throw new ResponseError({ status, problem, requestId })
  }
}

/** Required: an authority without support for dry runs may have carried out the revocation. */
export function isDryRun(value: JsonValue, place: string): true {
  if (value !== true) throw new FormError(place, 'must be true')
  return true
}
