import { member } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { AnswerError, RefusedError, RequestError, UnreachableError } from '@chancery/sdk'
import { Failure } from './failure.ts'

/** An error in the words of the person who has to act on it. */
export interface Explained {
  readonly code: string
  readonly message: string
  readonly hint?: string | undefined
  readonly requestId?: string | undefined
  readonly details?: JsonObject
  readonly exitCode: 1 | 2
}

/** Everything that can end a command. Unknown errors are defects; their text is shown, their stack only on demand. */
export function explain(error: unknown, isDebugging = false): Explained {
  if (error instanceof Failure) {
    const { code, message, hint, exitCode } = error
    return { code, message, hint, exitCode }
  }
  if (error instanceof RefusedError) return explainRefusal(error)
  if (error instanceof RequestError)
    return { code: 'usage', message: `The request cannot be made: ${error.message}.`, exitCode: 2 }
  if (error instanceof UnreachableError)
    return { code: 'unreachable', message: `${error.message}.`, hint: unreachableHint(error), exitCode: 1 }
  if (error instanceof AnswerError) {
    const hint =
      'Something else than a network authority may answer at this address. Check --url or network.na_endpoint.'
    return { code: 'unusable_answer', message: `${error.message}.`, hint, requestId: error.requestId, exitCode: 1 }
  }
  const shown =
    error instanceof Error
      ? isDebugging
        ? (error.stack ?? error.message)
        : `${error.name}: ${error.message}`
      : 'unknown error'
  const hint = 'This is a defect of the program. Run it again with CHANCERY_DEBUG=1 to see where, and report it.'
  return {
    code: 'unexpected',
    message: `Unexpected error. ${shown}`,
    hint: isDebugging ? undefined : hint,
    exitCode: 1,
  }
}

function explainRefusal(error: RefusedError): Explained {
  const { code, message, details, requestId } = error
  const hint = clockHint(error) ?? (Object.hasOwn(HINTS, code) ? HINTS[code]?.(error) : undefined)
  return { code, message, hint, requestId, details, exitCode: 1 }
}

type Hint = (error: RefusedError) => string

const HINTS: Readonly<Record<string, Hint>> = {
  admin_auth_failed: () =>
    'The authority does not accept this signature. Check that --operator-key and --operator-key-id belong together, ' +
    'that the key is configured there and not revoked, and that paths.genesis is the block of that network.',
  admin_auth_throttled: waitHint,
  rate_limit_exceeded: waitHint,
  insufficient_operator_tier: () =>
    'Use an operator key with the tier privileged (OPERATOR_KEY_TIERS_JSON of the authority).',
  unknown_operator_key: () =>
    'Operator keys are configured at the start of the authority: see OPERATOR_PUBLIC_KEYS_JSON there.',
  last_active_operator_key: () =>
    'Configure another operator key at the authority first, restart it, then revoke this one.',
  policy_not_found: () => 'List the stored versions with: chancery network-policy show --history',
  invalid_policy: ({ details }) => `Mend the member ${named(details, 'field')} of the policy file.`,
  unexpected_field: ({ details }) => `Remove ${named(details, 'fields')} from the policy file.`,
  conflict: () =>
    'Versions never change: a policy with this policy_id and other content is stored. Choose another policy_id, or ' +
    'leave it out and the authority makes one.',
  service_unavailable: ({ details }) =>
    member(details, 'outcome') === 'unknown'
      ? 'It is not known whether the change was made. Look at the state before you try again.'
      : 'Nothing was changed. Look at GET /readyz and the log of the authority, then try again.',
  service_not_ready: () => 'Nothing was changed. The details say which check fails.',
  internal_server_error: () => 'The log of the authority says more; look for the request id.',
  not_found: () =>
    'Is this the address of a network authority, and of this version? Check --url or network.na_endpoint.',
}

/** The codes with advice of their own; a test holds them against the contract. */
export function hintedCodes(): readonly string[] {
  return Object.keys(HINTS)
}

function waitHint({ retryAfterSeconds }: RefusedError): string {
  return retryAfterSeconds === undefined ? 'Wait a minute and try again.' : `Wait ${retryAfterSeconds} s and try again.`
}

/** Signed calls hold for five minutes around their time; a wrong clock fails every one of them. */
function clockHint({ clockSkewSeconds: skew }: RefusedError): string | undefined {
  if (skew === undefined) return undefined
  const distance = Math.abs(skew) < 120 ? `${Math.abs(skew)} s` : `${Math.round(Math.abs(skew) / 60)} minutes`
  return `The clock of this machine is ${distance} ${skew > 0 ? 'ahead of' : 'behind'} that of the authority. Set it right.`
}

function unreachableHint({ systemCode, sent }: UnreachableError): string {
  switch (systemCode) {
    case 'ECONNREFUSED':
      return 'Is the authority running? Start it with: chancery authority start --env-file <home>/authority.env'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'The host name is not known. Check --url or network.na_endpoint.'
    case 'TIMEOUT':
      return sent === 'perhaps'
        ? 'It took too long. The request may have been carried out: look before you repeat it.'
        : 'It took too long.'
    default:
      return sent === 'never'
        ? 'Check the address and the network, then try again.'
        : 'Check that the address is right (http or https). The request may have been carried out: look before you repeat it.'
  }
}

function named(details: JsonObject, name: string): string {
  const value = member(details, name)
  const words = Array.isArray(value) ? value : [value]
  const texts = words.filter((word) => typeof word === 'string' && word !== '')
  return texts.length === 0 ? 'named in the details' : texts.join(', ')
}
