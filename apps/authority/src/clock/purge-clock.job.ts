import { readInstant } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import type { Clock } from '@chancery/service-kit'
import type { PurgeClock } from './purge-clock.ts'
import type { Database, Tx } from '../database/database.ts'
import { storeTime } from '../database/latest-times.ts'

interface Parts {
  readonly database: Pick<Database, 'read'>
  readonly clock: Clock
  readonly purgeClock: { readonly nonces: PurgeClock; readonly daily: PurgeClock }
}

/**
 * Keeps how far time has settled, so that it goes on after a restart: a process that lives for less than a day would
 * otherwise never believe its clock, and nothing would ever be forgotten. What is kept is never later than the time it
 * was kept at, and downtime does not count, so a clock that jumped meanwhile is not believed by it.
 */
export async function storePurgeClocks(parts: Parts): Promise<void> {
  const db = parts.database.read
  for (const [name, settled] of Object.entries(parts.purgeClock)) {
    const kept = await findTime(db, `settled ${name}`)
    if (kept !== undefined) settled.goOnFrom(kept)
    const watched = await acceptFrom(parts, name, settled)
    if (watched !== undefined) settled.goOnFrom(watched)
    const now = settled.now()
    if (kept === undefined || now > kept) await storeTime(db, `settled ${name}`, now)
  }
}

/** What this process saw last; it adds only the time that passed while nobody else did. */
const lastSeen = new WeakMap<PurgeClock, { readonly until: Instant; readonly ms: number }>()

/**
 * The time a clock showed when somebody began to watch it, plus the time processes have run since, one at a time. When
 * they have run for as long as a single one would have to, it is as good as settled: real time is never less.
 */
async function acceptFrom(
  { database: { read: db }, clock }: Parts,
  name: string,
  settled: PurgeClock,
): Promise<Instant | undefined> {
  const [wall, ms] = [clock.now(), clock.monotonicMs()]
  const [from, until] = [await findTime(db, `watched ${name} from`), await findTime(db, `watched ${name} until`)]
  const seen = lastSeen.get(settled)
  // Set back since: whatever was watched then is no longer this clock.
  if (from === undefined || until === undefined || wall < until) {
    await storeTime(db, `watched ${name} from`, wall)
    await storeTime(db, `watched ${name} until`, wall)
    lastSeen.set(settled, { until: wall, ms })
    return undefined
  }
  const ran = seen?.until === until ? BigInt(Math.floor((ms - seen.ms) * 1000)) : 0n
  const reached = until + ran < wall ? until + ran : wall
  if (reached > until) await storeTime(db, `watched ${name} until`, reached)
  lastSeen.set(settled, { until: reached, ms })
  return reached - from >= BigInt(settled.believedAfterMs) * 1000n ? reached : undefined
}

async function findTime(db: Tx, name: string): Promise<Instant | undefined> {
  const row = await db.selectFrom('moments').select('at').where('name', '=', name).executeTakeFirst()
  return row === undefined ? undefined : readInstant(row.at)
}
