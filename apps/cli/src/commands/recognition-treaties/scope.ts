import { STANDINGS } from '@chancery/protocol'
import type { AttestationStatus } from '@chancery/protocol'
import { usageError } from '../../errors/failure.ts'
import type { Options } from '../../arguments/options.ts'

/** Checks --accept-status, because the parser cannot check the choices of a repeatable flag. */
export function readStatuses(options: Options): readonly AttestationStatus[] | undefined {
  const given = options.list('accept-status')
  if (given.length === 0) return undefined
  return [...new Set(given)].map((word) => {
    const currentStatus = STANDINGS.find((each) => each === word)
    if (currentStatus === undefined) throw usageError(`--accept-status must be one of ${STANDINGS.join(', ')}.`)
    return currentStatus
  })
}
