/** Names of settings of 0.2.0 that are gone, until 1.0. One of them stops the start, with these words after its name. */
export const FORMER_SETTINGS: Readonly<Record<string, string>> = {
  NA_CONSOLE_KEY_IDLE_MINUTES: 'is 15 minutes and no setting; remove it',
  GATEWAY_CONSOLE_KEY_IDLE_MINUTES: 'is 15 minutes and no setting; remove it',
  NA_INVITE_KEPT_DAYS: 'is 30 days and no setting; remove it',
  NA_REJECTION_KEPT_DAYS: 'is 90 days and no setting; remove it',
  NA_HEARTBEAT_MAX_SECONDS: 'follows NA_HEARTBEAT_MODE; remove it',
  NA_ACCESS_LOG_LEVEL: 'is NA_ACCESS_LOG: all, or failures for off',
  NA_ACCESS_LOG_EVERY: 'is NA_ACCESS_LOG=1/100 for one of 100',
  NA_ACCESS_LOG_SLOW_MS: 'is 1000 and no setting; remove it',
  GATEWAY_ACCESS_LOG_LEVEL: 'is GATEWAY_ACCESS_LOG: all, or failures for off',
  GATEWAY_ACCESS_LOG_EVERY: 'is GATEWAY_ACCESS_LOG=1/100 for one of 100',
  GATEWAY_ACCESS_LOG_SLOW_MS: 'is 1000 and no setting; remove it',
  NA_AUDIT_NATS_URL: 'is an option of audit forward: --to, or --to-file for a URL with a password',
  NA_AUDIT_NATS_CREDS_FILE: 'is the option --creds of audit forward',
  NA_AUDIT_NATS_CA_FILE: 'is the option --ca of audit forward',
  NA_AUDIT_NATS_STREAM: 'is the option --stream of audit forward',
  NA_AUDIT_NATS_SUBJECT: 'is the option --subject of audit forward',
}
