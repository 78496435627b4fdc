import { WRONG_SETTINGS } from '@chancery/service-kit'

/** The key is not available. The message names the setting and the location, never a secret. */
export class KeyUnavailableError extends Error {
  override readonly name: string = 'KeyUnavailableError'
}

/** The token is there, and has no such key. */
export class KeyMissingError extends KeyUnavailableError {
  override readonly name = 'KeyMissingError'
}

/** The token refuses the PIN. Each further attempt may lock it, so this process makes none, and no restart follows. */
export class PinRefusedError extends KeyUnavailableError {
  override readonly name = 'PinRefusedError'
  /** The log shows the reason without frames: a person corrects the PIN. */
  readonly isExpected = true
  readonly exitCode = WRONG_SETTINGS
}
