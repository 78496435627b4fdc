import { FormError, JsonError, type JsonObject } from '@chancery/protocol'
import { RefusedError, ResponseError, UnreachableError, UsageError } from '@chancery/sdk'
import { DryRunUnsupportedError } from '@chancery/sdk/authority'
import { PlatformError } from '@chancery/sdk/platform'
import { type ExitCode, exitCodeOf } from './exit-codes.ts'
import { hintFor } from './hints.ts'
import { CommandError } from './failure.ts'
import { OtherNetworkError } from './other-network.ts'

/** Error as shown to the user. */
export interface ErrorText {
  readonly code: string
  readonly message: string
  /** Single problems; each is printed on its own line. */
  readonly problems?: readonly string[]
  readonly hint?: string | undefined
  readonly requestId?: string | undefined
  readonly details?: JsonObject
  readonly exitCode: ExitCode
}

/** Explains any error of a command. Unknown errors are defects; the stack is shown only with CHANCERY_DEBUG. */
export function explain(error: unknown, isDebugging = false): ErrorText {
  if (error instanceof CommandError) {
    const { code, message, problems, hint, exitCode, cause } = error
    const refusal = cause instanceof RefusedError ? { requestId: cause.requestId, details: cause.details } : {}
    return { code, message, problems, hint, exitCode, ...refusal }
  }
  if (error instanceof RefusedError) return explainRefusal(error)
  if (error instanceof OtherNetworkError) {
    const hint = 'No request was signed. For the other network give its --home or --network.'
    return withCode({ code: 'another_network', message: `${error.message}.`, hint })
  }
  if (error instanceof UsageError)
    return { code: 'usage', message: `The request cannot be made: ${error.message}.`, exitCode: 2 }
  if (error instanceof UnreachableError)
    return withCode({ code: 'unreachable', message: `${error.message}.`, hint: unreachableHint(error) })
  if (error instanceof DryRunUnsupportedError) {
    const hint = 'An older authority would make the change. Update the authority, or omit --dry-run.'
    return { code: 'dry_run_unsupported', message: `${error.message}.`, hint, exitCode: 4 }
  }
  if (error instanceof ResponseError) {
    const hint = 'Check --url: another server may answer at this address.'
    return withCode({ code: 'unusable_answer', message: `${error.message}.`, hint, requestId: error.requestId })
  }
  if (error instanceof PlatformError) return withCode({ code: 'no_evidence', message: error.message })
  return explainOther(error, isDebugging)
}

function withCode(facts: Omit<ErrorText, 'exitCode'>): ErrorText {
  return { ...facts, exitCode: exitCodeOf(facts.code) }
}

/** Explains errors that no command expected. Input and system errors are not defects. */
function explainOther(error: unknown, isDebugging: boolean): ErrorText {
  if (!isDebugging && (error instanceof JsonError || error instanceof FormError)) {
    const message = `The input is not valid: ${error.message}.`
    return withCode({ code: 'invalid_input', message, hint: 'Check the files that you gave.' })
  }
  const code = codeOfSystem(error)
  if (!isDebugging && code !== undefined) {
    const hint = 'Check paths, permissions and ports, then try again.'
    return withCode({ code: 'system_error', message: `The system refused the operation (${code}).`, hint })
  }
  const shown =
    error instanceof Error
      ? isDebugging
        ? (error.stack ?? error.message)
        : withoutPaths(`${error.name}: ${error.message}`)
      : 'unknown error'
  const hint = 'This is a defect. Run the command again with CHANCERY_DEBUG=1 and report the output.'
  return withCode({
    code: 'unexpected',
    message: `Unexpected error. ${shown}`,
    hint: isDebugging ? undefined : hint,
  })
}

/** Returns the code of an error of the operating system, such as EACCES. */
function codeOfSystem(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** Leaves out where the program is installed. */
function withoutPaths(text: string): string {
  return text.replaceAll(/file:\/\/\S+|\S*[/\\](?:node_modules|dist|src)[/\\]\S+/g, '…')
}

function explainRefusal(error: RefusedError): ErrorText {
  const { code, message, details, requestId } = error
  const hint = clockHint(error) ?? hintFor(error)
  return { code, message, hint, requestId, details, exitCode: 4 }
}

/** Signed requests are valid for five minutes, so a wrong clock fails all of them. */
function clockHint({ clockOffsetSeconds: skew, status }: RefusedError): string | undefined {
  if (skew === undefined || status !== 401 || Math.abs(skew) < 30) return undefined
  const distance = Math.abs(skew) < 120 ? `${Math.abs(skew)} s` : `${Math.round(Math.abs(skew) / 60)} minutes`
  return `The clock of this machine is ${distance} ${skew > 0 ? 'ahead of' : 'behind'} the clock of the authority. Correct it.`
}

function unreachableHint({ systemCode, sent }: UnreachableError): string {
  switch (systemCode) {
    case 'ECONNREFUSED':
      return 'Check the address, and that the service runs.'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'The host name cannot be resolved. Check --url.'
    case 'TIMEOUT':
      return sent === 'perhaps'
        ? 'The request timed out and may have been executed. Check the state before you repeat it.'
        : 'The request timed out. Try again.'
    default:
      return sent === 'never'
        ? 'Check the address and the network, then try again.'
        : 'Check the address (http or https). The request may have been executed: check the state before you repeat it.'
  }
}
