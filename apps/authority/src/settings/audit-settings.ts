import { matching, readSettings, setting, text } from '@chancery/service-kit'
import type { SettingSources, SettingValues, SettingsResult } from '@chancery/service-kit'
import type { DatabaseLocation } from '../database/open.ts'
import { DATABASE_SETTINGS, databaseLocationOf } from './database-settings.ts'
import { urlOf } from './readers.ts'

/** Settings of `chancery audit forward`. The authority itself sends no events. */
export const AUDIT_SETTINGS = {
  auditNatsUrl: setting({
    name: 'NA_AUDIT_NATS_URL',
    help: 'NATS server that chancery audit forward sends to.',
    read: urlOf('nats', 'tls'),
    secret: true,
  }),
  auditNatsCredsFile: setting({
    name: 'NA_AUDIT_NATS_CREDS_FILE',
    help: 'Credentials file for the NATS server.',
    read: text,
  }),
  auditNatsCaFile: setting({
    name: 'NA_AUDIT_NATS_CA_FILE',
    help: 'Root certificate for the TLS of the NATS server.',
    read: text,
  }),
  auditNatsStream: setting({
    name: 'NA_AUDIT_NATS_STREAM',
    help: 'JetStream stream; created when it is missing.',
    read: matching(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 characters of A-Z a-z 0-9 _ -'),
    default: 'CHANCERY_AUDIT',
  }),
  auditNatsSubject: setting({
    name: 'NA_AUDIT_NATS_SUBJECT',
    help: 'Subject of the events; the event type is appended.',
    read: matching(
      /^[A-Za-z0-9_-]{1,64}(?:\.[A-Za-z0-9_-]{1,64}){0,7}$/,
      'must be words of A-Z a-z 0-9 _ - joined by dots',
    ),
    default: 'chancery.audit',
  }),
} as const

export interface AuditSettings extends SettingValues<typeof AUDIT_SETTINGS> {
  readonly databaseLocation: DatabaseLocation
}

/** Reads only the database and the receiver of audit events: a machine that forwards them needs no key. */
export function readAuditSettings(sources: SettingSources): SettingsResult<AuditSettings> {
  const { databaseUrl, databasePooler, dbPath } = DATABASE_SETTINGS
  return readSettings({ ...AUDIT_SETTINGS, databaseUrl, databasePooler, dbPath }, sources).finish((values) => ({
    ...values,
    databaseLocation: databaseLocationOf(values),
  }))
}
