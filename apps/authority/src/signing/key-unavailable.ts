import { WRONG_SETTINGS } from '@chancery/service-kit'

/** The key is not available. The message names the setting and the location, never a secret. */
export class KeyUnavailableError extends Error {
  override readonly name: string = 'KeyUnavailableError'
}

/** The token is there, and has no such key, or several. */
export class KeyMissingError extends KeyUnavailableError {
  override readonly name = 'KeyMissingError'
}

/**
 * The token refuses the PIN. Each further attempt may lock it, so this process makes none. Its exit code stops a service
 * manager from starting it again: each start is an attempt.
 */
export class PinRefusedError extends KeyUnavailableError {
  override readonly name = 'PinRefusedError'
  /** The log shows the reason without frames: a person corrects the PIN. */
  readonly isExpected = true
  readonly exitCode = WRONG_SETTINGS
}

/** All sessions of the token are in use. It says nothing about the key: many callers alone cause it. */
export class TokenBusyError extends Error {
  override readonly name = 'TokenBusyError'
}
