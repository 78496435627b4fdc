/** The key is not available. The message names the setting and the location, never a secret. */
export class KeyUnavailableError extends Error {
  override readonly name: string = 'KeyUnavailableError'
}

/** The token is there, and has no such key, or several. */
export class KeyMissingError extends KeyUnavailableError {
  override readonly name = 'KeyMissingError'
}

/** The token refuses the PIN. Each further attempt may lock it, so this process makes none. */
export class PinRefusedError extends KeyUnavailableError {
  override readonly name = 'PinRefusedError'
}
