import { setTimeout as pause } from 'node:timers/promises'
import { EndedAtStart, createTestDatabase, createTestNetwork, startAuthorityProcess } from '@chancery/testkit'
import type { AuthorityProcess, Backend, TestDatabase, TestNetwork } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from './campaign.ts'
import { Acks } from './enrollment-acks.ts'
import { checkEnrollment } from './enrollment-checks.ts'
import { createLoad } from './enrollment-load.ts'
import { startOwnServer } from './own-server.ts'
import { seededRandom } from './random.ts'
import type { Random } from './random.ts'
import { openRows } from './rows.ts'
import type { Rows } from './rows.ts'

export const summary = 'kill -9 of an authority at named points of join, renew and revoke; nothing acknowledged is lost'
export const defaultCount = 100

/** The points of apps/authority/src/faults.ts. */
export const POINTS = [
  'join-read',
  'join-proved',
  'join-sealed',
  'join-committed',
  'renew-locked',
  'renew-sealed',
  'renew-stored',
  'renew-committed',
  'revoke-marked',
  'revoke-committed',
  'crl-signed',
  'crl-stored',
] as const

/** Every version holds the whole list, and every check reads them all. */
const KILLS_PER_DATABASE = 8
const LOAD_SECONDS = 30
const MAX_HITS_BEFORE = 12

export async function run(options: CampaignOptions): Promise<CampaignResult> {
  const network = await createTestNetwork('KILL-NET')
  const random = seededRandom(options.seed)
  const server = await startOwnServer()
  const victims = {
    sqlite: new Victim('sqlite', network, () => createTestDatabase('sqlite')),
    postgres: new Victim('postgres', network, () => server.createDatabase()),
  }
  const violations: string[] = []
  try {
    for (let kill = 0; kill < options.count; kill += 1) {
      const victim = kill % 2 === 0 ? victims.sqlite : victims.postgres
      // Each point on each engine in turn.
      const point = POINTS[(kill >> 1) % POINTS.length] ?? POINTS[0]
      const found = await victim.kill(point, random)
      violations.push(...found.map((sentence) => `${victim.backend} at ${point}: ${sentence}`))
      if (kill % 10 === 9) options.log(`${kill + 1} kills, ${victims.sqlite.acked + victims.postgres.acked} acks`)
    }
  } finally {
    await victims.sqlite.close()
    await victims.postgres.close()
    await server.remove()
    await network.remove()
  }
  for (const violation of violations.slice(0, 20)) options.log(`violation: ${violation}`)
  return { cases: options.count, violations: violations.length }
}

/** One engine with its database, killed again and again; a recorder outside keeps what was acknowledged. */
class Victim {
  readonly backend: Backend
  readonly #network: TestNetwork
  readonly #createDatabase: () => Promise<TestDatabase>
  #database: TestDatabase | undefined
  #rows: Rows | undefined
  #acks = new Acks()
  #kills = 0
  acked = 0

  constructor(backend: Backend, network: TestNetwork, createDatabase: () => Promise<TestDatabase>) {
    this.backend = backend
    this.#network = network
    this.#createDatabase = createDatabase
  }

  /** Starts it, loads it until the point is met, and starts it again to see what it kept. Gives the violations. */
  async kill(point: string, random: Random): Promise<string[]> {
    if (this.#kills % KILLS_PER_DATABASE === 0) await this.close()
    this.#kills += 1
    this.#database ??= await this.#createDatabase()
    const fault = { CHANCERY_FAULT_POINT: point, CHANCERY_FAULT_AFTER: String(random.below(MAX_HITS_BEFORE)) }
    const violations = await this.#loadUntilDead({ ...this.#database.settings, ...fault }, random)
    violations.push(...(await this.#inspect(this.#database)))
    return violations
  }

  async #loadUntilDead(settings: Readonly<Record<string, string>>, random: Random): Promise<string[]> {
    let process: AuthorityProcess
    try {
      process = await startAuthorityProcess({ network: this.#network, settings })
    } catch (error) {
      // Its own job makes the first list: a point of publishing may be met before anyone is served.
      if (error instanceof EndedAtStart && error.ending === 'SIGKILL') return []
      throw error
    }
    const before = this.#acks.size
    const load = createLoad(process, this.#acks, random)
    const isDead = await load.run(LOAD_SECONDS)
    await process.kill()
    this.acked += this.#acks.size - before
    const ending = await process.exited
    return [
      ...load.violations,
      ...(isDead ? [] : ['the point was never met']),
      ...(ending === 'SIGKILL' ? [] : [`ended by ${ending}`]),
    ]
  }

  /** After a restart, straight in the database. */
  async #inspect(database: TestDatabase): Promise<string[]> {
    this.#rows ??= await openRows(database)
    await awaitSilence(this.#rows)
    const violations = await this.#acks.check(this.#rows)
    const restarted = await startAuthorityProcess({ network: this.#network, settings: database.settings })
    try {
      const list = await restarted.request('GET', '/crl')
      if (list.status !== 200) violations.push(`after the restart GET /crl answers ${list.status}`)
    } finally {
      await restarted.stop()
    }
    const { publicKey } = this.#network.authority
    violations.push(...(await this.#acks.check(this.#rows)))
    violations.push(...(await checkEnrollment(this.#rows, { authorityKey: publicKey })))
    return violations
  }

  async close(): Promise<void> {
    await this.#rows?.close()
    await this.#database?.drop()
    this.#rows = undefined
    this.#database = undefined
    this.#acks = new Acks()
  }
}

/** The server works on for a moment after its client was killed: what it commits then is committed. */
async function awaitSilence(rows: Rows): Promise<void> {
  if (rows.backend === 'sqlite') return
  const busy = `select pid from pg_stat_activity where application_name = 'chancery-authority' and datname = current_database()`
  while ((await rows.query(busy)).length > 0) await pause(20)
}
