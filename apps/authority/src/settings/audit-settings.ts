import { readSettings } from '@chancery/service-kit'
import type { SettingSources, SettingsResult } from '@chancery/service-kit'
import type { DatabaseLocation } from '../database/open.ts'
import { DATABASE_SETTINGS, databaseLocationOf } from './database-settings.ts'

/** Reads only where the database is: a machine that exports or forwards audit events needs no key. */
export function readAuditSettings(
  sources: SettingSources,
): SettingsResult<{ readonly databaseLocation: DatabaseLocation }> {
  const { databaseUrl, dbPath } = DATABASE_SETTINGS
  return readSettings({ databaseUrl, dbPath }, sources).finish((values) => ({
    databaseLocation: databaseLocationOf(values),
  }))
}
