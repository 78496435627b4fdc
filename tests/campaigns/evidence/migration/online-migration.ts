import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createTestNetwork, hasPgBouncer, startAuthorityProcess } from '@chancery/testkit'
import { startTemporaryPgBouncer, startTemporaryPostgres } from '@chancery/testkit'
import type { AuthorityProcess, TestNetwork } from '@chancery/testkit'
import pg from 'pg'
import type { CampaignOptions, CampaignResult } from '../../lib/campaign.ts'
import { type Random, seededRandom } from '../../lib/random.ts'
import { EvidenceScenario, decisionOf } from '../scenario.ts'
import { auditTables } from './audit-tables.ts'
import { isPartitioned, restoreFormerSchema, restoreFormerTables } from './changed-tables.ts'
import type { ChangedTables, RowFacts } from './changed-tables.ts'
import { evidenceTables } from './evidence-tables.ts'
import { LockWatch } from './lock-watch.ts'
import { SteadyLoad, servedBy } from './steady-load.ts'

export const summary =
  'evidence entries or audit events (--table audit) of the release before are partitioned while two instances serve, with kill -9 of the change'
/** Kills. */
export const defaultCount = 20

const ROWS = 1_000_000
const MOST_LOCK_MS = 200
const SETTINGS = { EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' }
/** Points of apps/authority/src/faults/fault-points.ts, and any other moment. */
const POINTS = [
  'partitions-bounded',
  'partitions-checked',
  'partitions-attached',
  'partitions-replaced',
  'any',
] as const
const ANY_MS = 3000
/** How long instances serve before the first change and after the last one. */
const AT_REST_MS = 3000
const PROGRAM = fileURLToPath(new URL('partition-main.ts', import.meta.url))

export interface MigrationOptions extends CampaignOptions {
  readonly rows?: number
}

export async function run(options: MigrationOptions): Promise<CampaignResult> {
  const network = await createTestNetwork('ONLINE-NET')
  // A separate server, because its locks are watched.
  const server = await startTemporaryPostgres()
  const bouncer = hasPgBouncer() ? await startTemporaryPgBouncer(server) : undefined
  const client = new pg.Client({ connectionString: server.url, application_name: 'campaign' })
  await client.connect()
  try {
    const urls = { direct: server.url, pooled: bouncer?.through(server.url) }
    const tables = options.table === 'audit' ? auditTables : evidenceTables
    await seed(network, client, server.url, tables, options)
    return await new OnlineMigration(network, client, urls, tables, options).run()
  } finally {
    await client.end()
    await bouncer?.stop()
    await server.remove()
    await network.remove()
  }
}

/** A database of the release before with many rows. */
async function seed(
  network: TestNetwork,
  client: pg.Client,
  url: string,
  tables: ChangedTables,
  { rows = ROWS, log }: MigrationOptions,
): Promise<void> {
  const process = await startAuthorityProcess({ network, settings: { DATABASE_URL: url, ...SETTINGS } })
  const scenario = await EvidenceScenario.open(servedBy(process))
  await scenario.execute(decisionOf(await scenario.decide()))
  const exported = (await process.as('standard')('GET', '/admin/evidence/export')).text.split('\n').slice(0, -1)
  await process.stop()
  await restoreFormerSchema(client, tables)
  await tables.seed(client, exported, rows, log)
}

class OnlineMigration {
  readonly #network: TestNetwork
  readonly #client: pg.Client
  readonly #urls: { readonly direct: string; readonly pooled: string | undefined }
  readonly #tables: ChangedTables
  readonly #options: MigrationOptions
  readonly #random: Random
  readonly #violations: string[] = []
  #kills = 0
  #changes = 0

  constructor(
    network: TestNetwork,
    client: pg.Client,
    urls: { readonly direct: string; readonly pooled: string | undefined },
    tables: ChangedTables,
    options: MigrationOptions,
  ) {
    this.#network = network
    this.#client = client
    this.#urls = urls
    this.#tables = tables
    this.#options = options
    this.#random = seededRandom(options.seed)
  }

  async run(): Promise<CampaignResult> {
    const { log, seed: first, count } = this.#options
    const before = await this.#tables.read(this.#client)
    log(`${before.rows} rows of the release before`)
    // The job of the instances waits for its lease: only the processes of the campaign change the table.
    await this.#client.query(
      `insert into job_leases (name, holder, token, acquired_at, expires_at)
        values ($1, 'campaign', 1, '2020', '9999')
        on conflict (name) do update set acquired_at = '2020', expires_at = '9999'`,
      [this.#tables.job],
    )
    const instances = await this.#startInstances()
    const watch = await LockWatch.start(this.#urls.direct, this.#tables.names)
    const loads = await Promise.all(
      instances.map((each, at) => SteadyLoad.start(each, first + at, this.#tables.targets)),
    )
    try {
      await pause(AT_REST_MS)
      if (await isPartitioned(this.#client, this.#tables))
        this.#violations.push('an instance has partitioned the table at its start')
      while (this.#kills < count) await this.#kill()
      await this.#change({})
      await pause(AT_REST_MS)
    } finally {
      await Promise.all(loads.map((load) => load.stop()))
      await watch.stop()
      await Promise.all(instances.map((each) => each.stop()))
    }
    await this.#compare(before, loads)
    if (watch.longestWaitMs > MOST_LOCK_MS)
      this.#violations.push(`a request waited ${watch.longestWaitMs} ms for a lock`)
    if (watch.longestHoldMs > MOST_LOCK_MS) this.#violations.push(`a lock was held for ${watch.longestHoldMs} ms`)
    const failures = loads.flatMap((load) => load.failures)
    for (const violation of [...this.#violations, ...failures].slice(0, 20)) log(`violation: ${violation}`)
    const times = loads.flatMap((load) => load.times)
    return {
      cases: this.#kills,
      violations: this.#violations.length + failures.length,
      figures: {
        table: this.#tables.names[0],
        rows: before.rows,
        kills: this.#kills,
        changes: this.#changes,
        instances: instances.length,
        requests: times.length,
        failed: failures.length,
        appended: (await this.#tables.read(this.#client)).last - before.last,
        longest_lock_wait_ms: round(watch.longestWaitMs),
        longest_lock_held_ms: round(watch.longestHoldMs),
        looks: watch.looks,
        p99_ms: round(Math.max(...loads.map((load) => load.p99))),
        slowest_ms: round(times.reduce((most, each) => Math.max(most, each), 0)),
      },
    }
  }

  /** One connects directly, one through a pooler in transaction mode. The first migrates the schema. */
  async #startInstances(): Promise<readonly AuthorityProcess[]> {
    const { direct, pooled } = this.#urls
    const places = [
      { DATABASE_URL: direct },
      pooled === undefined ? { DATABASE_URL: direct } : { DATABASE_URL: `${pooled}?pooler=transaction` },
    ]
    const started: AuthorityProcess[] = []
    for (const place of places)
      started.push(await startAuthorityProcess({ network: this.#network, settings: { ...place, ...SETTINGS } }))
    return started
  }

  /** Kills the change at a point. When it was complete before, the table of the release before is restored first. */
  async #kill(): Promise<void> {
    if (await isPartitioned(this.#client, this.#tables)) await restoreFormerTables(this.#client, this.#tables)
    const point = this.#random.pick(POINTS)
    const ending = await this.#change(
      point === 'any' ? { killAfterMs: this.#random.below(ANY_MS) } : { env: { CHANCERY_FAULT_POINT: point } },
    )
    if (ending !== 'SIGKILL') return
    this.#kills += 1
    if (this.#kills % 5 === 0) this.#options.log(`${this.#kills} kills, ${this.#changes} whole changes`)
  }

  async #change(how: {
    readonly env?: Readonly<Record<string, string>>
    readonly killAfterMs?: number
  }): Promise<string | number> {
    const isPooled = this.#urls.pooled !== undefined && this.#random.chance(50)
    const place = isPooled ? [this.#urls.pooled ?? '', 'transaction'] : [this.#urls.direct]
    const args = [this.#tables.job, ...place]
    const child = fork(PROGRAM, args, {
      env: { PATH: process.env['PATH'], ...how.env },
      execArgv: ['--conditions=development'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    const exited = once(child, 'exit').then(([code, signal]) => (signal as string | null) ?? (code as number))
    if (how.killAfterMs !== undefined) {
      await Promise.race([once(child, 'message'), exited])
      await Promise.race([pause(how.killAfterMs), exited])
      child.kill('SIGKILL')
    }
    const ending = await exited
    if (ending === 0) this.#changes += 1
    else if (ending !== 'SIGKILL') this.#violations.push(`a change ended with ${ending}`)
    return ending
  }

  async #compare(before: RowFacts, loads: readonly SteadyLoad[]): Promise<void> {
    if (!(await isPartitioned(this.#client, this.#tables))) this.#violations.push('the table is not partitioned')
    const acknowledged = {
      decisions: loads.flatMap((load) => [...load.decisions]),
      executions: loads.flatMap((load) => [...load.executions]),
    }
    this.#violations.push(...(await this.#tables.compare(this.#client, before, acknowledged)))
  }
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10
}
