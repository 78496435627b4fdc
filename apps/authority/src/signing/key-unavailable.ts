/** The key could not be had. The message names the setting and the place, never a secret. */
export class KeyUnavailable extends Error {
  override readonly name = 'KeyUnavailable'
}
