/** The key is not available. The message names the setting and the location, never a secret. */
export class KeyUnavailableError extends Error {
  override readonly name = 'KeyUnavailableError'
}
