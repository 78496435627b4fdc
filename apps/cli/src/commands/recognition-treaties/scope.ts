import { type AttestationStatus, STANDINGS, treatyCapabilities } from '@chancery/protocol'
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

/** Checks --capability: exact capabilities and patterns such as `ledger.*` that the treaty grants in decisions. */
export function readCapabilities(options: Options): readonly string[] | undefined {
  const given = [...new Set(options.list('capability'))]
  if (given.length === 0) return undefined
  if (treatyCapabilities({ claims: { capabilities: given } }) === null)
    throw usageError('--capability must be a capability or a pattern such as ledger.*, and at most 256 of them.')
  return given
}
