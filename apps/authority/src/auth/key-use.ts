import { DAY } from '@chancery/protocol'
import { storeTime } from '../database/latest-times.ts'
import type { Reader } from '../database/database.ts'
import type { AuthParts } from './parts.ts'

const PREFIX = 'operator key used '

/** The last day that this process has stored for each key. */
const stored = new WeakMap<AuthParts['database'], Map<string, bigint>>()

/**
 * Stores the day on which a key was last used: one row for each key, written once a day by each instance. The call goes
 * on when it cannot be stored, because a read must be served while the database takes no writes.
 */
export async function noteUse({ clock, database, log }: AuthParts, key_id: string): Promise<void> {
  const day = clock.now() / DAY
  const days = stored.get(database) ?? new Map<string, bigint>()
  if (days.get(key_id) === day) return
  stored.set(database, days.set(key_id, day))
  try {
    await database.write((tx) => storeTime(tx, `${PREFIX}${key_id}`, day * DAY))
  } catch (error) {
    days.delete(key_id)
    log.warn('cannot store the last use of an operator key', { key_id, error })
  }
}

/** Days of last use by key id, as YYYY-MM-DD. */
export async function readUses(db: Reader): Promise<ReadonlyMap<string, string>> {
  const rows = await db.selectFrom('moments').selectAll().where('name', 'like', `${PREFIX}%`).execute()
  return new Map(rows.map(({ name, at }) => [name.slice(PREFIX.length), at.slice(0, 10)]))
}
