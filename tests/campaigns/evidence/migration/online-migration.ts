import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createTestNetwork, hasPgBouncer, startAuthorityProcess } from '@chancery/testkit'
import { startTemporaryPgBouncer, startTemporaryPostgres } from '@chancery/testkit'
import type { AuthorityProcess, TestNetwork } from '@chancery/testkit'
import pg from 'pg'
import { fillLog } from '../../../../bench/evidence/filler.ts'
import type { CampaignOptions, CampaignResult } from '../../lib/campaign.ts'
import { seededRandom } from '../../lib/random.ts'
import type { Random } from '../../lib/random.ts'
import { EvidenceScenario, decisionOf } from '../scenario.ts'
import { isPartitioned, readFacts, restoreFormerSchema, restoreFormerTable } from './former-table.ts'
import { LockWatch } from './lock-watch.ts'
import { seedChain } from './seed-chain.ts'
import { SteadyLoad, servedBy } from './steady-load.ts'

export const summary =
  'evidence entries of the release before are partitioned while two instances serve, with kill -9 of the change'
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
    await seed(network, client, server.url, options)
    return await new OnlineMigration(network, client, urls, options).run()
  } finally {
    await client.end()
    await bouncer?.stop()
    await server.remove()
    await network.remove()
  }
}

/** A database of the release before with a valid chain. Its log and facts are marked as complete. */
async function seed(
  network: TestNetwork,
  client: pg.Client,
  url: string,
  { rows = ROWS, log }: MigrationOptions,
): Promise<void> {
  const process = await startAuthorityProcess({ network, settings: { DATABASE_URL: url, ...SETTINGS } })
  const scenario = await EvidenceScenario.open(servedBy(process))
  await scenario.execute(decisionOf(await scenario.decide()))
  const exported = (await process.as('standard')('GET', '/admin/evidence/export')).text.split('\n').slice(0, -1)
  await process.stop()
  await restoreFormerSchema(client)
  await seedChain(client, exported, rows, log)
  const { rows: heads } = await client.query<{ last: number }>('select last_sequence::int as last from evidence_head')
  await fillLog(client, heads[0]?.last ?? 0)
  await client.query('update decision_facts_head set described_through = (select last_sequence from evidence_head)')
}

class OnlineMigration {
  readonly #network: TestNetwork
  readonly #client: pg.Client
  readonly #urls: { readonly direct: string; readonly pooled: string | undefined }
  readonly #options: MigrationOptions
  readonly #random: Random
  readonly #violations: string[] = []
  #kills = 0
  #changes = 0

  constructor(
    network: TestNetwork,
    client: pg.Client,
    urls: { readonly direct: string; readonly pooled: string | undefined },
    options: MigrationOptions,
  ) {
    this.#network = network
    this.#client = client
    this.#urls = urls
    this.#options = options
    this.#random = seededRandom(options.seed)
  }

  async run(): Promise<CampaignResult> {
    const { log, seed: first, count } = this.#options
    const through = await this.#lastSequence()
    const before = await readFacts(this.#client, through)
    log(`${before.entries} entries of the release before`)
    // The job of the instances waits for its lease: only the processes of the campaign change the table.
    await this.#client.query(
      `insert into job_leases (name, holder, token, acquired_at, expires_at)
        values ('evidence-partitions', 'campaign', 1, '2020', '9999')
        on conflict (name) do update set acquired_at = '2020', expires_at = '9999'`,
    )
    const instances = await this.#startInstances()
    const watch = await LockWatch.start(this.#urls.direct)
    const loads = await Promise.all(instances.map((each, at) => SteadyLoad.start(each, first + at)))
    try {
      await pause(AT_REST_MS)
      if (await isPartitioned(this.#client)) this.#violations.push('an instance has partitioned the table at its start')
      while (this.#kills < count) await this.#kill()
      await this.#change({})
      await pause(AT_REST_MS)
    } finally {
      await Promise.all(loads.map((load) => load.stop()))
      await watch.stop()
      await Promise.all(instances.map((each) => each.stop()))
    }
    await this.#compare(before, through, loads)
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
        rows: before.entries,
        kills: this.#kills,
        changes: this.#changes,
        instances: instances.length,
        requests: times.length,
        failed: failures.length,
        appended: (await this.#lastSequence()) - through,
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
      pooled === undefined ? { DATABASE_URL: direct } : { DATABASE_URL: pooled, NA_DATABASE_POOLER: 'transaction' },
    ]
    const started: AuthorityProcess[] = []
    for (const place of places)
      started.push(await startAuthorityProcess({ network: this.#network, settings: { ...place, ...SETTINGS } }))
    return started
  }

  /** Kills the change at a point. When it was complete before, the table of the release before is restored first. */
  async #kill(): Promise<void> {
    if (await isPartitioned(this.#client)) await restoreFormerTable(this.#client)
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
    const args = isPooled ? [this.#urls.pooled ?? '', 'transaction'] : [this.#urls.direct]
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

  async #compare(
    before: Awaited<ReturnType<typeof readFacts>>,
    through: number,
    loads: readonly SteadyLoad[],
  ): Promise<void> {
    const require = (isGood: boolean, sentence: string): void => {
      if (!isGood) this.#violations.push(sentence)
    }
    require(await isPartitioned(this.#client), 'the table is not partitioned')
    const after = await readFacts(this.#client, through)
    require(after.digest === before.digest && after.entries === before.entries, 'entries of before differ')
    const last = await this.#lastSequence()
    const whole = await readFacts(this.#client, last)
    require(whole.entries === last, `${whole.entries} entries, and the head says ${last}`)
    require(whole.broken === 0, `${whole.broken} entries do not follow the one before them`)
    for (const [kind, ids] of [
      ['decision', loads.flatMap((load) => [...load.decisions])],
      ['execution', loads.flatMap((load) => [...load.executions])],
    ] as const) {
      const { rows } = await this.#client.query<{ stored: number }>(
        'select count(*)::int as stored from evidence_entries where entry_kind = $1 and decision_id = any($2)',
        [kind, ids],
      )
      require(rows[0]?.stored === ids.length, `${rows[0]?.stored} of ${ids.length} acknowledged ${kind}s are stored`)
    }
    const { rows } = await this.#client.query<{ same: boolean }>(
      'select e.entry_digest = h.last_digest as same from evidence_head h join evidence_entries e on e.store_sequence = h.last_sequence',
    )
    require(rows[0]?.same === true, 'the head has another digest than the last entry')
  }

  async #lastSequence(): Promise<number> {
    const { rows } = await this.#client.query<{ last: number }>('select last_sequence::int as last from evidence_head')
    return rows[0]?.last ?? 0
  }
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10
}
