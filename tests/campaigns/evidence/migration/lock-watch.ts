import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'

const EVERY_MS = 10

/** Locks that requests take. The change itself waits in stronger modes, and no request waits for that. */
const OF_REQUESTS = "('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')"

interface Observed {
  readonly kind: 'waiting' | 'holding'
  readonly holder: string
  readonly ms: number | null
}

/**
 * Reads the locks of a server again and again: how long a request waits for tables or their partitions, and how
 * long a transaction excludes all others from them.
 */
export class LockWatch {
  longestWaitMs = 0
  longestHoldMs = 0
  looks = 0
  readonly #client: pg.Client
  readonly #pattern: string
  readonly #firstSeen = new Map<string, number>()
  #isWatching = true
  #work: Promise<void> = Promise.resolve()

  private constructor(client: pg.Client, tables: readonly string[]) {
    this.#client = client
    this.#pattern = `^(${tables.join('|')})(_[0-9]+)?$`
  }

  static async start(url: string, tables: readonly string[]): Promise<LockWatch> {
    const client = new pg.Client({ connectionString: url, application_name: 'campaign' })
    await client.connect()
    const watch = new LockWatch(client, tables)
    watch.#work = watch.#watch()
    return watch
  }

  async stop(): Promise<void> {
    this.#isWatching = false
    await this.#work
    await this.#client.end()
  }

  async #watch(): Promise<void> {
    while (this.#isWatching) {
      await this.#look()
      await pause(EVERY_MS)
    }
  }

  async #look(): Promise<void> {
    const { rows } = await this.#client.query<Observed>({
      name: 'locks',
      text: `select case when l.granted then 'holding' else 'waiting' end as kind, l.virtualtransaction as holder,
          extract(epoch from clock_timestamp() - l.waitstart)::float8 * 1000 as ms
        from pg_locks l join pg_class c on c.oid = l.relation
        where l.locktype = 'relation' and l.database = (select oid from pg_database where datname = current_database())
          and c.relname ~ $1
          and ((not l.granted and l.mode in ${OF_REQUESTS}) or (l.granted and l.mode = 'AccessExclusiveLock'))`,
      values: [this.#pattern],
    })
    this.looks += 1
    const now = performance.now()
    const held = new Set<string>()
    for (const { kind, holder, ms } of rows) {
      if (kind === 'waiting') this.longestWaitMs = Math.max(this.longestWaitMs, ms ?? 0)
      else {
        held.add(holder)
        const first = this.#firstSeen.get(holder) ?? now
        this.#firstSeen.set(holder, first)
        this.longestHoldMs = Math.max(this.longestHoldMs, now - first)
      }
    }
    for (const holder of this.#firstSeen.keys()) if (!held.has(holder)) this.#firstSeen.delete(holder)
  }
}
