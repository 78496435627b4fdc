import { systemClock } from '@chancery/service-kit'
import type { Database } from '../database/database.ts'
import { type Migrated, migrate } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'
import { claimIdentity } from '../startup/check-keys.ts'
import { cannotOpen } from '../startup/open-migrated.ts'
import { type Outcome, SETTINGS_INVALID, followRotation, readAuthority, runCommand } from './authority-identity.ts'
import { type CommandArguments, readSettingsOrExplain } from './key-succession.ts'

/**
 * Applies the migrations of this release, as a start does, and ends. For a job that runs before the instances of a new
 * release start. Opens no key. A new database is claimed for the authority of the settings.
 */
export async function migrateSchema(args: CommandArguments): Promise<Outcome<Migrated>> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return SETTINGS_INVALID
  return runCommand(async () => {
    const given = await readAuthority(settings)
    const { databaseLocation: place } = settings
    let database: Database | undefined
    try {
      database = openDatabase(place)
      const migrated = await migrate(database, () => systemClock.now())
      const { genesis, ownKeys } = await followRotation(database, given)
      await claimIdentity(database, genesis, ownKeys, systemClock.now())
      return migrated
    } catch (error) {
      throw cannotOpen(place, error) ?? error
    } finally {
      await database?.close()
    }
  })
}
