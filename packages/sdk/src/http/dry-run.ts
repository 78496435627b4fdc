import { DRY_RUN_SURFACE, type members, sovereign } from '@chancery/contract'
import type { ReadBy } from '@chancery/protocol'
import { ChanceryError, ResponseError } from '../errors.ts'
import type { Call, Connection } from './call.ts'
import { json } from './read-response.ts'

const { metadata } = sovereign

/** Previews a revocation; nothing is changed or audited. */
export interface DryRun {
  readonly dryRun: true
}

export interface RealRun {
  readonly dryRun?: false
}

/** The number, and some of them by name. */
export type CountedSample = ReadBy<typeof members.countedSample>

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
  const read = json((value) => metadata.answer(value, ''))
  const { supported_surfaces: surfaces } = await connection.call({ route: metadata, read, options: call.options })
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
