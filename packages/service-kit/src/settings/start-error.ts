/** The service cannot start. The message names the setting or file to fix. */
export class StartError extends Error {
  override readonly name = 'StartError'
}
