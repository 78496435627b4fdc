import { LIMITS } from '@chancery/contract'
import { type Instant, seconds, writeSortable } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Reader, Transaction } from './database.ts'

/** A node may miss so many heartbeats less one before it counts as silent. */
const INTERVALS = 3

/** Seconds without a heartbeat after which a node is not active: protocol/core 19, longer for a slower interval. */
export function windowOf(paceSeconds: number): number {
  return Math.max(LIMITS.activeNodeWindowSeconds, INTERVALS * paceSeconds)
}

/** The slowest interval that an instance has asked for and that a node may still follow. */
export async function readSlowestPace(db: Reader, now: Instant): Promise<number> {
  const { rows } = await sql<{ readonly seconds: number | null }>`
    select max(seconds) as seconds from heartbeat_paces where until > ${writeSortable(now)}`.execute(db)
  return Number(rows[0]?.seconds ?? 0)
}

/** Stores an interval before nodes are asked for it. Each counts until a node that missed some heartbeats is silent. */
export async function storePace({ query }: Pick<Transaction, 'query'>, pace: number, now: Instant): Promise<void> {
  const until = writeSortable(now + seconds(2 * windowOf(pace)))
  await query.deleteFrom('heartbeat_paces').where('until', '<=', writeSortable(now)).execute()
  await query
    .insertInto('heartbeat_paces')
    .values({ seconds: pace, until })
    .onConflict((conflict) =>
      conflict.column('seconds').doUpdateSet({ until }).where('heartbeat_paces.until', '<', until),
    )
    .execute()
}

/** The active-node window of this process, which a job refreshes. */
export class ActiveWindow {
  readonly #paceSeconds: number
  #seconds: number

  /** The interval of the settings. */
  constructor(paceSeconds: number) {
    this.#paceSeconds = paceSeconds
    this.#seconds = windowOf(paceSeconds)
  }

  /** As of now, so that a process does not count nodes as silent that follow the interval of another one. */
  static async open(paceSeconds: number, db: Reader, now: Instant): Promise<ActiveWindow> {
    const window = new ActiveWindow(paceSeconds)
    await window.refresh(db, now)
    return window
  }

  get seconds(): number {
    return this.#seconds
  }

  async refresh(db: Reader, now: Instant): Promise<void> {
    this.#seconds = windowOf(Math.max(this.#paceSeconds, await readSlowestPace(db, now)))
  }
}
