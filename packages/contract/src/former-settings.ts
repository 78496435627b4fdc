/** Names of settings of 0.2.0 that are gone, until 1.0. One of them stops the start, with these words after its name. */
export const FORMER_SETTINGS: Readonly<Record<string, string>> = {
  NA_CONSOLE_KEY_IDLE_MINUTES: 'is 15 minutes and no setting; remove it',
  GATEWAY_CONSOLE_KEY_IDLE_MINUTES: 'is 15 minutes and no setting; remove it',
  NA_INVITE_KEPT_DAYS: 'is 30 days and no setting; remove it',
  NA_REJECTION_KEPT_DAYS: 'is 90 days and no setting; remove it',
  NA_HEARTBEAT_MAX_SECONDS: 'follows NA_HEARTBEAT_MODE; remove it',
}
