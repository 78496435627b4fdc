import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { readGenesisBlock, readJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  FIRST_KEY,
  createInvite,
  createTestDatabase,
  createTestNetwork,
  signSuccession,
  startAuthorityProcess,
} from '@chancery/testkit'
import type { AuthorityProcess, Succeeded, TestDatabase, TestKey, TestNetwork } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from './campaign.ts'
import { seededRandom } from './random.ts'
import type { Random } from './random.ts'
import { chancery } from './succession-commands.ts'
import { Fleet } from './succession-fleet.ts'
import { Auditor, Gateways, Partner } from './succession-readers.ts'

export const summary =
  'nodes, gateways, an auditor and a partner follow key successions with kills, one of them undone: none is lost'
/** Successions; `--nodes` says how many nodes go through them. */
export const defaultCount = 20

const DEFAULT_NODES = 300
const GATEWAYS = 3
/** Each is a process of its own. */
const COMMAND_NODES = 2
/** Nodes report with a heartbeat every ten seconds; restarts and a busy machine take their time, too. */
const PATIENCE_MS = 180_000

export async function run({ count, seed, log, nodes = DEFAULT_NODES }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  const live = await Live.open(random, nodes, log)
  try {
    for (let round = 0; round < count; round += 1) {
      const started = performance.now()
      await live.succeed(round, round === Math.min(1, count - 1))
      const seconds = Math.round((performance.now() - started) / 1000)
      log(JSON.stringify({ round, key: live.keyId, seconds, judged: live.judged, records: live.records }))
    }
    const found = await live.finish()
    for (const line of found.slice(0, 50)) log(`violation: ${line}`)
    return { cases: count, violations: found.length }
  } finally {
    await live.close()
  }
}

interface Parts {
  readonly folder: string
  readonly network: TestNetwork
  readonly database: TestDatabase
  readonly random: Random
  readonly log: (line: string) => void
}

class Live {
  readonly #parts: Parts
  readonly #fleet: Fleet
  readonly #gateways: Gateways
  readonly #auditor = new Auditor()
  readonly #found: string[] = []
  #partner: Partner | undefined
  #na: AuthorityProcess
  #state: Succeeded

  private constructor(parts: Parts, na: AuthorityProcess, state: Succeeded) {
    this.#parts = parts
    this.#na = na
    this.#state = state
    this.#fleet = new Fleet(parts.random)
    this.#gateways = new Gateways(parts.network.name)
  }

  static async open(random: Random, nodes: number, log: (line: string) => void): Promise<Live> {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-live-'))
    const network = await createTestNetwork('LIVE-NET')
    const database = await createTestDatabase(random.chance(50) ? 'postgres' : 'sqlite')
    const settings = {
      ...database.settings,
      NA_HEARTBEAT_SECONDS: '10',
      NA_HIGH_WATER_FILES: join(folder, 'mark.json'),
    }
    const na = await startAuthorityProcess({ network, settings })
    const genesisFile = network.settings['GENESIS_FILE'] ?? ''
    const genesis = readGenesisBlock(readJson(await readFile(genesisFile, 'utf8')))
    const state = { genesis, key: FIRST_KEY, settings: {} }
    const live = new Live({ folder, network, database, random, log }, na, state)
    const invite = (): Promise<string> => createInvite(na, { max_validity_hours: 24 })
    await live.#fleet.join(na.url, genesis, Math.max(1, nodes - COMMAND_NODES), invite)
    await live.#fleet.joinByCommand(na.url, genesisFile, folder, COMMAND_NODES, invite)
    await fetch(`${na.url}/sovereign-revocation-feed`)
    await live.#gateways.start(na.url, network.authority, GATEWAYS)
    live.#gateways.judge(() => live.#fleet.certificates())
    live.#partner = new Partner(na.url, genesis)
    log(
      `${live.#fleet.size} nodes joined on ${database.settings['DATABASE_URL'] === undefined ? 'sqlite' : 'postgres'}`,
    )
    return live
  }

  get keyId(): string {
    return this.#state.key.keyId
  }

  get judged(): number {
    return this.#gateways.judged
  }

  get records(): number {
    return this.#auditor.size
  }

  /** Announce, follow, switch, renew, retire; an undone one goes back after the switch. */
  async succeed(round: number, isUndone: boolean): Promise<void> {
    const { folder, random } = this.#parts
    const before = this.#state.key
    const next = await signSuccession(
      folder,
      this.#state,
      { keyId: `na-${round}`, seed: `live-${round}` },
      systemClock.now(),
    )
    await this.#look()
    await this.#hand(next, { isKilled: random.chance(50) })
    if (isUndone) await this.#hand(await this.#sign(before), { isKilled: false })
    await this.#fleet.restartSome(this.#na.url, this.#state.genesis)
    await this.#fleet.renewCommands()
    await this.#until('certificates of the new key', async () =>
      (await this.#fleet.certificates()).every(({ issued_by }) => issued_by === this.keyId),
    )
    // A predecessor ends some time after its successor was used; the campaign does not wait for that.
    await this.#step('retire', this.#state.settings ?? {}, '--yes')
    await this.#follow()
    await this.#look()
  }

  /** Stops everything and says what was wrong. */
  async finish(): Promise<readonly string[]> {
    const { settings = {} } = this.#state
    const [block, history] = [settings['GENESIS_FILE'] ?? '', settings['NA_KEY_HISTORY_FILE'] ?? '']
    const found = await this.#auditor.verify(this.#parts.folder, block, history)
    await chancery(this.#settings(settings), 'authority', 'verify-db').catch((error: unknown) =>
      this.#found.push(`verify-db: ${String(error).slice(0, 500)}`),
    )
    const { count } = (await this.#na.request('GET', '/nodes')).json as { readonly count: number }
    const lost = this.#fleet.size - count
    if (lost !== 0) this.#found.push(`${lost} nodes are lost`)
    return [...this.#found, ...found, ...this.#fleet.found, ...this.#gateways.found]
  }

  async close(): Promise<void> {
    const { folder, network, database } = this.#parts
    await this.#fleet.stop()
    await this.#gateways.stop()
    await this.#na.stop()
    await database.drop()
    await network.remove()
    await rm(folder, { recursive: true, force: true })
  }

  #sign(key: TestKey): Promise<Required<Succeeded>> {
    return signSuccession(this.#parts.folder, this.#state, key, systemClock.now())
  }

  async #hand(next: Required<Succeeded>, { isKilled }: { readonly isKilled: boolean }): Promise<void> {
    await this.#step('announce', next.settings)
    if (isKilled) {
      await this.#na.kill()
      await this.#start(this.#state.settings ?? {})
    }
    await this.#follow()
    await this.#until('followers', async () => {
      const said = await this.#step('status', next.settings)
      return said.includes(`${this.#fleet.size} of ${this.#fleet.size} nodes have the new block`)
    })
    if (isKilled) await this.#na.kill()
    else await this.#na.stop()
    await this.#step('switch', next.settings)
    this.#state = next
    await this.#start(next.settings)
  }

  async #look(): Promise<void> {
    this.#found.push(...((await this.#partner?.pull()) ?? []))
    await this.#auditor.collect(this.#na.url, await this.#fleet.certificates())
  }

  async #follow(): Promise<void> {
    await this.#gateways.follow(this.#na.url, this.#parts.network.settings['GENESIS_FILE'] ?? '')
  }

  #settings(more: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const { network, database, folder } = this.#parts
    const own = { NA_HEARTBEAT_SECONDS: '10', NA_HIGH_WATER_FILES: join(folder, 'mark.json') }
    return { ...network.settings, ...database.settings, ...own, ...more }
  }

  #step(step: string, settings: Readonly<Record<string, string>>, ...more: readonly string[]): Promise<string> {
    return chancery(this.#settings(settings), 'authority', 'key-succession', '--step', step, ...more)
  }

  async #start(settings: Readonly<Record<string, string>>): Promise<void> {
    const { port } = new URL(this.#na.url)
    const own = { ...this.#settings(settings), PORT: port }
    this.#na = await startAuthorityProcess({ network: this.#parts.network, settings: own })
  }

  async #until(what: string, isDone: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + PATIENCE_MS
    while (performance.now() < end) {
      if (await isDone()) return
      await pause(1000)
    }
    throw new Error(`still waiting for ${what}: ${this.#fleet.found.join('; ')}`)
  }
}
