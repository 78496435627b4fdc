import { childPids, parentOf } from '@chancery/testkit'
import type pg from 'pg'
import { machineSeconds, processSeconds, residentMiB } from '../../../bench/lib/cpu.ts'
import { slopeOf } from '../../../bench/lib/statistics.ts'

const SAMPLE_MS = 1000
/** The first part of a run fills caches, so the slope of memory is taken from the rest. */
const SETTLED_SHARE = 1 / 3

export interface ResourceFigures {
  readonly seconds: number
  readonly authoritySeconds: number
  readonly postgresSeconds: number
  readonly generatorSeconds: number
  /** Of all other processes of the machine. */
  readonly otherSeconds: number
  readonly walBytes: number
  readonly rssStartMb: number
  readonly rssEndMb: number
  readonly rssMbPerMinute: number
}

interface Watched {
  /** Its workers count, too. */
  readonly authority: number
  /** Processes of the campaign itself. */
  readonly generators: readonly number[]
}

/** Processor time, memory and write-ahead log between `start` and `stop`. */
export class ResourceWatch {
  readonly #client: pg.Client
  readonly #watched: Watched
  readonly #rss: { readonly minute: number; readonly mb: number }[] = []
  /** Processor seconds of each process of PostgreSQL: at the start, or 0 when it began later, and now. */
  readonly #postgres = new Map<number, { readonly from: number; now: number }>()
  #server = 0
  #from = { at: 0, authority: 0, generators: 0, machine: 0, wal: 0 }
  #timer: NodeJS.Timeout | undefined

  constructor(client: pg.Client, watched: Watched) {
    this.#client = client
    this.#watched = watched
  }

  async start(): Promise<void> {
    const { rows } = await this.#client.query<{ readonly pid: number }>('select pg_backend_pid() as pid')
    this.#server = parentOf(rows[0]?.pid ?? 0) ?? 0
    for (const pid of childPids(this.#server)) {
      const from = processSeconds(pid)
      this.#postgres.set(pid, { from, now: from })
    }
    const { authority, generators } = this.#watched
    this.#from = {
      at: performance.now(),
      authority: total(withChildren(authority)),
      generators: total(generators),
      machine: machineSeconds(),
      wal: await this.#walBytes(),
    }
    this.#sample()
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS)
  }

  async stop(): Promise<ResourceFigures> {
    clearInterval(this.#timer)
    this.#sample()
    const { at, authority, generators, machine, wal } = this.#from
    const authoritySeconds = total(withChildren(this.#watched.authority)) - authority
    const postgresSeconds = [...this.#postgres.values()].reduce((sum, { from, now }) => sum + now - from, 0)
    const generatorSeconds = total(this.#watched.generators) - generators
    const ownSeconds = authoritySeconds + postgresSeconds + generatorSeconds
    const settled = this.#rss.slice(Math.floor(this.#rss.length * SETTLED_SHARE))
    return {
      seconds: (performance.now() - at) / 1000,
      authoritySeconds,
      postgresSeconds,
      generatorSeconds,
      otherSeconds: Math.max(0, machineSeconds() - machine - ownSeconds),
      walBytes: (await this.#walBytes()) - wal,
      rssStartMb: this.#rss[0]?.mb ?? Number.NaN,
      rssEndMb: this.#rss.at(-1)?.mb ?? Number.NaN,
      rssMbPerMinute: slopeOf(settled.map(({ minute, mb }) => [minute, mb])),
    }
  }

  #sample(): void {
    const minute = (performance.now() - this.#from.at) / 60_000
    const mb = withChildren(this.#watched.authority).reduce((sum, pid) => sum + residentMiB(pid), 0)
    this.#rss.push({ minute, mb })
    for (const pid of childPids(this.#server)) {
      const known = this.#postgres.get(pid)
      const now = processSeconds(pid)
      if (known === undefined) this.#postgres.set(pid, { from: 0, now })
      // 0 when it has ended meanwhile.
      else known.now = Math.max(known.now, now)
    }
  }

  async #walBytes(): Promise<number> {
    const { rows } = await this.#client.query<{ readonly bytes: string }>(
      "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as bytes",
    )
    return Number(rows[0]?.bytes ?? Number.NaN)
  }
}

function total(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + processSeconds(pid), 0)
}

function withChildren(pid: number): number[] {
  return [pid, ...childPids(pid)]
}
