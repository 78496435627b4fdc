import { EndedAtStartError, createTestNetwork, startAuthorityProcess } from '@chancery/testkit'
import type { AuthorityProcess, TestDatabase, TestNetwork } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { Acks } from '../lib/acknowledgements.ts'
import { checkEnrollment } from './checks.ts'
import { createLoad } from './load.ts'
import { waitUntilIdle, withRows } from '../lib/rows.ts'
import { type KillTarget, type KillTargetParts, endingOf, killBoth } from '../lib/kill-target.ts'

/** Points of apps/authority/src/faults/fault-points.ts. */
const POINTS = [
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

/** Every version contains the whole list, and every check reads all versions. */
const KILLS_PER_DATABASE = 8
const LOAD_SECONDS = 30
const MAX_HITS_BEFORE = 12

/** kill -9 of an authority at named points of join, renew and revoke: nothing acknowledged is lost. */
export async function run(options: CampaignOptions): Promise<CampaignResult> {
  const network = await createTestNetwork('KILL-NET')
  try {
    return await killBoth(options, (parts) => new EnrollmentTarget(network, parts))
  } finally {
    await network.remove()
  }
}

/** Stores acknowledged results outside the authority. Every start checks the state after the last kill. */
class EnrollmentTarget implements KillTarget {
  readonly violations: string[] = []
  acks = 0
  readonly #network: TestNetwork
  readonly #parts: KillTargetParts
  #database: TestDatabase | undefined
  #process: AuthorityProcess | undefined
  #acks = new Acks()
  /** The kill that the next start checks. */
  #last = ''

  constructor(network: TestNetwork, parts: KillTargetParts) {
    this.#network = network
    this.#parts = parts
  }

  async kill(turn: number): Promise<void> {
    const { backend, random, createDatabase } = this.#parts
    if (turn % KILLS_PER_DATABASE === 0) await this.finish()
    const point = POINTS[turn % POINTS.length] ?? POINTS[0]
    this.#database ??= await createDatabase()
    const fault = { CHANCERY_FAULT_POINT: point, CHANCERY_FAULT_AFTER: String(random.below(MAX_HITS_BEFORE)) }
    try {
      this.#process = await this.#start(this.#database, fault)
      await this.#inspect(this.#database)
      this.#last = `${backend} at ${point}`
      await this.#loadUntilDead(this.#process)
    } catch (error) {
      // The job of the authority signs the first list, so a publishing point may be reached before the first request.
      if (!(error instanceof EndedAtStartError && error.ending === 'SIGKILL')) throw error
    }
    await waitUntilIdle(this.#database)
  }

  async finish(): Promise<void> {
    if (this.#database === undefined) return
    this.#process = await this.#start(this.#database, {})
    await this.#inspect(this.#database)
    const list = await this.#process.request('GET', '/crl')
    if (list.status !== 200) this.#note(`after the start GET /crl answers ${list.status}`)
    await this.close()
  }

  async close(): Promise<void> {
    await this.#process?.kill()
    await this.#database?.drop()
    this.#process = undefined
    this.#database = undefined
    this.#acks = new Acks()
  }

  #start(database: TestDatabase, fault: Readonly<Record<string, string>>): Promise<AuthorityProcess> {
    return startAuthorityProcess({ network: this.#network, settings: { ...database.settings, ...fault } })
  }

  #note(sentence: string): void {
    this.violations.push(`${this.#last}: ${sentence}`)
  }

  async #loadUntilDead(process: AuthorityProcess): Promise<void> {
    const before = this.#acks.size
    const load = createLoad(process, this.#acks, this.#parts.random)
    const isDead = await load.run(LOAD_SECONDS)
    const ending = await endingOf(process)
    this.acks += this.#acks.size - before
    for (const violation of load.violations) this.#note(violation)
    if (!isDead) this.#note('the point was never met')
    else if (ending !== 'SIGKILL') this.#note(`ended by ${ending}`)
  }

  /** Read directly from the database, after an authority has opened it again. */
  async #inspect(database: TestDatabase): Promise<void> {
    const { publicKey } = this.#network.authority
    const found = await withRows(database, async (rows) => [
      ...(await this.#acks.check(rows)),
      ...(await checkEnrollment(rows, { authorityKey: publicKey })),
    ])
    for (const violation of found) this.#note(violation)
  }
}
