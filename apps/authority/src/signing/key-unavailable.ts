/** The key could not be had. The message names the setting and the place, never a secret. */
export class KeyUnavailableError extends Error {
  override readonly name = 'KeyUnavailableError'
}
