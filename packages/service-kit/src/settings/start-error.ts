/** Exit code of a service whose settings or files must be corrected first (EX_CONFIG). A restart would not help. */
export const WRONG_SETTINGS = 78

/** A service cannot start. The message names the setting or file to correct. */
export class StartError extends Error {
  override readonly name = 'StartError'
  /** The log shows the reason and its causes, without frames: the operator fixes a setting, not the program. */
  readonly isExpected = true
  readonly exitCode: number

  /** `isTemporary`: what is missing may be there at the next attempt, so the exit code is 1. */
  constructor(message: string, { isTemporary = false, ...options }: ErrorOptions & { isTemporary?: boolean } = {}) {
    super(message, options)
    this.exitCode = isTemporary ? 1 : WRONG_SETTINGS
  }
}

/** The exit code of a service that does not start because of this error: the one that its class states, otherwise 1. */
export function exitCodeOf(error: unknown): number {
  return error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number' ? error.exitCode : 1
}
