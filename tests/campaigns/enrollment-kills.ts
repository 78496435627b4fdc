import { EndedAtStart, createTestDatabase, createTestNetwork, startAuthorityProcess } from '@chancery/testkit'
import type { AuthorityProcess, Backend, TestDatabase, TestNetwork } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from './campaign.ts'
import { Acks } from './enrollment-acks.ts'
import { checkEnrollment } from './enrollment-checks.ts'
import { createLoad } from './enrollment-load.ts'
import { startOwnServer } from './own-server.ts'
import { seededRandom } from './random.ts'
import type { Random } from './random.ts'
import { awaitSilence, openRows } from './rows.ts'
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
    // Side by side: most of a kill is the waiting of the next start.
    await Promise.all(
      [victims.sqlite, victims.postgres].map(async (victim, engine) => {
        for (let kill = engine; kill < options.count; kill += 2) {
          const point = POINTS[(kill >> 1) % POINTS.length] ?? POINTS[0]
          const found = await victim.kill(point, random)
          violations.push(...found.map((sentence) => `${victim.backend} at ${point}: ${sentence}`))
          if (kill % 20 === 19) options.log(`${kill + 1} kills, ${victims.sqlite.acked + victims.postgres.acked} acks`)
        }
        violations.push(...(await victim.finish()))
      }),
    )
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

  /**
   * Starts it, which shows what is left after the kill before, loads it until the point is met, and looks at what it
   * kept. Gives the violations.
   */
  async kill(point: string, random: Random): Promise<string[]> {
    const violations = this.#kills % KILLS_PER_DATABASE === 0 ? await this.finish() : []
    this.#kills += 1
    this.#database ??= await this.#createDatabase()
    const fault = { CHANCERY_FAULT_POINT: point, CHANCERY_FAULT_AFTER: String(random.below(MAX_HITS_BEFORE)) }
    violations.push(...(await this.#loadUntilDead({ ...this.#database.settings, ...fault }, random)))
    violations.push(...(await this.#inspect(this.#database)))
    return violations
  }

  /** The last start on a database is not killed. */
  async finish(): Promise<string[]> {
    if (this.#database === undefined) return []
    const process = await startAuthorityProcess({ network: this.#network, settings: this.#database.settings })
    const violations = await this.#readList(process)
    await process.kill()
    violations.push(...(await this.#inspect(this.#database)))
    await this.close()
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
    const violations = await this.#readList(process)
    const before = this.#acks.size
    const load = createLoad(process, this.#acks, random)
    const isDead = await load.run(LOAD_SECONDS)
    await process.kill()
    this.acked += this.#acks.size - before
    const ending = await process.exited
    return [
      ...violations,
      ...load.violations,
      ...(isDead ? [] : ['the point was never met']),
      ...(ending === 'SIGKILL' ? [] : [`ended by ${ending}`]),
    ]
  }

  /** No answer at all is no violation: the job that makes the list may be what was to be killed. */
  async #readList(process: AuthorityProcess): Promise<string[]> {
    const list = await process.request('GET', '/crl').catch(() => undefined)
    return list === undefined || list.status === 200 ? [] : [`after the start GET /crl answers ${list.status}`]
  }

  /** Straight in the database. */
  async #inspect(database: TestDatabase): Promise<string[]> {
    this.#rows ??= await openRows(database)
    await awaitSilence(this.#rows)
    return [
      ...(await this.#acks.check(this.#rows)),
      ...(await checkEnrollment(this.#rows, { authorityKey: this.#network.authority.publicKey })),
    ]
  }

  async close(): Promise<void> {
    await this.#rows?.close()
    await this.#database?.drop()
    this.#rows = undefined
    this.#database = undefined
    this.#acks = new Acks()
  }
}
