import { type Finding, SharedRead, good, inTime, sleep, warn } from '@chancery/service-kit'
import type { JsonObject } from '@chancery/protocol'
import { EXPECTED_SCHEMA_VERSION, readServedSchema } from '../../database/migrate.ts'
import type { HealthParts, ProbedDatabase } from './readiness.ts'

/** A hanging database is reported as not ready after this time. */
export const TIME_LIMIT_MS = 1500

/** How long a caller waits for a new result while the last one may be used: a good one only. Balancers wait 200 ms or less. */
const WAIT_MS = 80
/** How old that one may be. So a database that stops answering is reported after this time, and a slow one is not. */
const USABLE_MS = 3000
/** A probe is several statements, and one in ten seconds commits. */
const PROBE_LIMIT_MS = 5000
/** Probes in a row that must be slow: one slow answer is no finding. */
const KEPT_READS = 5
/** Seconds of one read from which on the database is slow. As the alert ChanceryDatabaseSlow. */
const SLOW_READ_SECONDS = 0.1

/** `seconds`: what each of the last reads took at least. */
export function checkSpeed(seconds: number): Finding {
  const milliseconds = Math.round(seconds * 1000)
  if (seconds < SLOW_READ_SECONDS) return good('database-speed', `a read takes ${milliseconds} ms`)
  return warn(
    'database-speed',
    `The database is slow: a read of one row takes ${milliseconds} ms`,
    'Look at the load of its server and at the network between: docs/operate/incidents.md#slow-database.',
    { effect: 'Each request waits for several reads, and a decision for a write, too.' },
  )
}

/** Asks the database and the limiter, at most once at a time. Callers of a slow database get the last result. */
export class DatabaseProbe {
  readonly #parts: HealthParts
  readonly #runs: SharedRead<ProbedDatabase>
  readonly #readSeconds: number[] = []
  #last: { readonly found: ProbedDatabase; readonly atMs: number } | undefined

  constructor(parts: HealthParts) {
    this.#parts = parts
    this.#runs = new SharedRead(() => this.#run())
  }

  /** Seconds of the last read, a connection from the pool included. Undefined before the first one. */
  get readSeconds(): number | undefined {
    return this.#readSeconds.at(-1)
  }

  /** Seconds that every one of the last reads took at least; 0 while there are too few. */
  get leastReadSeconds(): number {
    return this.#readSeconds.length < KEPT_READS ? 0 : Math.min(...this.#readSeconds)
  }

  async read(): Promise<ProbedDatabase> {
    const { clock, database, rollback } = this.#parts
    const next = this.#runs.read()
    const last = this.#last
    // After a lost connection another database may answer: no earlier result says anything about it.
    const isGood = last?.found.schema !== 'unknown' && last?.found.limiterResponds === true
    // A file that answers late is locked or on a broken disk.
    const isUsable = database.engine === 'postgres' && isGood && clock.monotonicMs() - last.atMs < USABLE_MS
    if (!isUsable || rollback.needsRecheck || rollback.isHalted())
      return inTime(next, TIME_LIMIT_MS).catch((error: unknown) => this.#away(error))
    const waiting = new AbortController()
    try {
      return (await Promise.race([next, sleep(WAIT_MS, waiting.signal)])) ?? this.#last?.found ?? last.found
    } finally {
      waiting.abort()
    }
  }

  async #run(): Promise<ProbedDatabase> {
    const [database, limiterResponds] = await Promise.all([this.#checkDatabase(), canCount(this.#parts)])
    const found: ProbedDatabase = { ...database, limiterResponds }
    this.#last = { found, atMs: this.#parts.clock.monotonicMs() }
    return found
  }

  async #checkDatabase(): Promise<Omit<ProbedDatabase, 'limiterResponds'>> {
    try {
      const { version, isNewerButServed } = await inTime(this.#probe(), PROBE_LIMIT_MS)
      const database = { ...this.#facts(), writable: true, schema_version: version }
      const schema = version === EXPECTED_SCHEMA_VERSION ? 'own' : isNewerButServed ? 'newer' : 'other'
      return { database, schema }
    } catch (error) {
      return this.#away(error)
    }
  }

  #facts(): JsonObject {
    return { backend: this.#parts.database.engine, expected_schema_version: EXPECTED_SCHEMA_VERSION }
  }

  #away(error: unknown): ProbedDatabase {
    // A class name only, because driver texts contain host names and user names.
    const name = error instanceof Error ? error.name : 'Error'
    const database = { ...this.#facts(), writable: false, schema_version: null, error: name }
    return { database, schema: 'unknown', limiterResponds: true }
  }

  async #probe(): ReturnType<typeof readServedSchema> {
    // After a lost connection another database may respond. The load balancer must get this result before it sends
    // requests. A halted instance also recovers with the first check after a recovery, however long its jobs back off.
    const { rollback, database, clock } = this.#parts
    if (rollback.needsRecheck || rollback.isHalted()) await rollback.recheck()
    await database.checkWritable()
    if (rollback.needsRecheck) await rollback.recheck()
    const startedMs = clock.monotonicMs()
    const found = await readServedSchema(database.read)
    this.#readSeconds.push((clock.monotonicMs() - startedMs) / 1000)
    if (this.#readSeconds.length > KEPT_READS) this.#readSeconds.shift()
    return found
  }
}

/** Only a shared limiter can fail. In HA mode it must respond. */
async function canCount({ settings, limits }: HealthParts): Promise<boolean> {
  if (!settings.haMode) return true
  try {
    await inTime(limits.shared.probe(), PROBE_LIMIT_MS)
    return true
  } catch {
    return false
  }
}
