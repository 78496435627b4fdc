import type { JsonObject } from '@chancery/protocol'
import { AnswerError, DryRunUnsupportedError, RefusedError, RequestError, UnreachableError } from '@chancery/sdk'
import { adviceFor } from './advice.ts'
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
  if (error instanceof DryRunUnsupportedError) {
    const hint = 'An older authority would carry it out. Update the authority, or leave --dry-run out.'
    return { code: 'dry_run_unsupported', message: `${error.message}.`, hint, exitCode: 1 }
  }
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
  const hint = clockHint(error) ?? adviceFor(error)
  return { code, message, hint, requestId, details, exitCode: 1 }
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
