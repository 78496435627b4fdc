/** The service cannot start. The message names the setting or file to fix. */
export class StartError extends Error {
  override readonly name = 'StartError'
  /** The log shows the reason and its causes, without frames: the operator fixes a setting, not the program. */
  readonly isExpected = true
}
