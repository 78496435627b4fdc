import { type Instant, readInstant } from '@chancery/protocol'
import type { Clock } from '@chancery/service-kit'
import type { PurgeClock } from './purge-clock.ts'
import type { Database, Reader } from '../database/database.ts'
import { storeTime } from '../database/latest-times.ts'

interface Parts {
  readonly database: Pick<Database, 'read' | 'write'>
  readonly clock: Clock
  readonly purgeClock: { readonly nonces: PurgeClock; readonly daily: PurgeClock }
}

/**
 * Stores the accepted time, so that it continues after a restart. Otherwise a process that runs for less than a day
 * would never accept its clock, and nothing would be purged. The stored time is never later than the time of storing,
 * and downtime does not count, so a clock that jumped in the meantime is not accepted.
 */
export async function storePurgeClocks(parts: Parts): Promise<void> {
  const { database } = parts
  for (const [name, purgeClock] of Object.entries(parts.purgeClock)) {
    const stored = await findTime(database.read, `settled ${name}`)
    if (stored !== undefined) purgeClock.continueFrom(stored)
    const watched = await acceptFrom(parts, name, purgeClock)
    if (watched !== undefined) purgeClock.continueFrom(watched)
    const now = purgeClock.now()
    if (stored === undefined || now > stored) await write(database, `settled ${name}`, now)
  }
}

/** The last observation of this process. It adds only the time in which no other process observed. */
const lastSeen = new WeakMap<PurgeClock, { readonly until: Instant; readonly ms: number }>()

/**
 * The time that a clock showed at the first observation, plus the time that processes have run since, one at a time.
 * When they have run for as long as a single process would have to, the clock is accepted: real time is never less.
 */
async function acceptFrom(
  { database, clock }: Parts,
  name: string,
  purgeClock: PurgeClock,
): Promise<Instant | undefined> {
  const [wall, ms] = [clock.now(), clock.monotonicMs()]
  const [from, until] = [
    await findTime(database.read, `watched ${name} from`),
    await findTime(database.read, `watched ${name} until`),
  ]
  const seen = lastSeen.get(purgeClock)
  // Set back since: earlier observations do not apply to this clock.
  if (from === undefined || until === undefined || wall < until) {
    await write(database, `watched ${name} from`, wall)
    await write(database, `watched ${name} until`, wall)
    lastSeen.set(purgeClock, { until: wall, ms })
    return undefined
  }
  const ran = seen?.until === until ? BigInt(Math.floor((ms - seen.ms) * 1000)) : 0n
  const reached = until + ran < wall ? until + ran : wall
  if (reached > until) await write(database, `watched ${name} until`, reached)
  lastSeen.set(purgeClock, { until: reached, ms })
  return reached - from >= BigInt(purgeClock.acceptedAfterMs) * 1000n ? reached : undefined
}

function write(database: Pick<Database, 'write'>, name: string, when: Instant): Promise<void> {
  return database.write((tx) => storeTime(tx, name, when))
}

async function findTime(db: Reader, name: string): Promise<Instant | undefined> {
  const row = await db.selectFrom('moments').select('at').where('name', '=', name).executeTakeFirst()
  return row === undefined ? undefined : readInstant(row.at)
}
