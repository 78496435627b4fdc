import type { Instant } from '@chancery/protocol'
import { migrate } from './migrate.ts'
import { type DatabaseLocation, openDatabase } from './open.ts'

/** An empty database of this release that belongs to no authority yet. Tests copy one instead of migrating each time. */
export async function prepareDatabase(place: DatabaseLocation, now: () => Instant): Promise<void> {
  const database = openDatabase(place)
  try {
    await migrate(database, now)
  } finally {
    await database.close()
  }
}
