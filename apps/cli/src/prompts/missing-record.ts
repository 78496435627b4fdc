import { ERRORS } from '@chancery/contract'
import { CommandError } from '../errors/failure.ts'

const NEXT_STEPS = {
  policy_not_found: 'List the stored versions with: chancery network-policy show --history',
  boundary_policy_not_found: 'Find policy and version with: chancery boundary-policy list',
  executor_key_not_found: 'List the keys with: chancery executor-key list',
} as const

/** Returns the error that the authority would send for a record that does not exist. */
export function missingRecord(code: keyof typeof NEXT_STEPS): CommandError {
  return new CommandError({ code, message: ERRORS[code].message, hint: NEXT_STEPS[code] })
}
