import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { JsonObject } from '@chancery/protocol'
import { createInvite, createTestDatabase, createTestNetwork, FIRST_KEY, testSigner } from '@chancery/testkit'
import type { Backend } from '@chancery/testkit'
import type { Random } from '../lib/random.ts'
import { Auditor } from './auditor.ts'
import { SuccessionAuthority } from './authority.ts'
import { Business } from './calls.ts'
import { Gateways } from './gateways.ts'
import { Fleet } from './nodes.ts'
import { Partner } from './partner.ts'
import { Root, type SignedKey } from './root-key.ts'
import { Watch } from './watch.ts'

const GATEWAYS = 3
/** Nodes in a separate process each; the others share a few processes. */
const COMMAND_NODES = 10
const LIBRARY_PROCESSES = 2
/** Heartbeats are sent every five seconds. Restarts and a busy machine take more time. */
const PATIENCE_MS = 240_000
const CHECK_EVERY_MS = 1000
/** A command from sources costs more than its request. */
const ASK_EVERY_MS = 3000

/** Points where the switch is killed, another one each time. Before the last one nothing may have changed. */
const SWITCH_POINTS = [
  'switch-identity-stored',
  'crl-signed',
  'crl-stored',
  'switch-policy-stored',
  'switch-feed-stored',
  'switch-checkpoint-stored',
  'switch-phase-stored',
  'audited:authority_key_succeeded',
  'committed:authority_key_succeeded',
] as const

export type Undone = 'after the switch' | 'before the switch'

interface Participants {
  readonly na: SuccessionAuthority
  readonly root: Root
  readonly fleet: Fleet
  readonly gateways: Gateways
  readonly auditor: Auditor
  readonly partner: Partner
  readonly business: Business
  readonly watch: Watch
}

/** Key successions of one network, with everything that has to follow. */
export class SuccessionRounds {
  readonly found: string[] = []
  readonly #random: Random
  readonly #backend: Backend
  readonly #closing: (() => Promise<unknown>)[] = []
  #participants: Participants | undefined
  #switches: number

  constructor(random: Random, backend: Backend) {
    this.#random = random
    this.#backend = backend
    this.#switches = random.below(SWITCH_POINTS.length)
  }

  async open(nodes: number): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-live-'))
    this.#closing.push(() => rm(folder, { recursive: true, force: true }))
    const at = async (name: string): Promise<string> => {
      await mkdir(join(folder, name), { recursive: true })
      return join(folder, name)
    }
    const network = await createTestNetwork('LIVE-NET')
    this.#closing.push(() => network.remove())
    const database = await createTestDatabase(this.#backend)
    this.#closing.push(() => database.drop())
    const root = await Root.open(await at('root'), dirname(network.settings['NA_PRIVATE_KEY_FILE'] ?? ''))
    const first = await root.first(FIRST_KEY, network.settings['GENESIS_FILE'] ?? '')
    const instances = this.#backend === 'postgres' ? 2 : 1
    const na = await SuccessionAuthority.start(network, database, { folder, state: first, instances })
    this.#closing.push(() => na.stop())
    const { url } = na
    const { genesisFile } = first
    const invite = (): Promise<string> => createInvite(na, { max_validity_hours: 24 })
    const fleet = new Fleet({ url, genesisFile, folder: await at('nodes'), random: this.#random, invite })
    this.#closing.push(() => fleet.stop())
    const commands = Math.min(COMMAND_NODES, Math.ceil(nodes / 3))
    await fleet.joinByLibrary(nodes - commands, Math.min(LIBRARY_PROCESSES, nodes - commands))
    await fleet.joinByCommand(commands)
    const business = await Business.open(na)
    const key = { keyId: first.key.keyId, publicKey: first.publicKey }
    const { publicKey: rootPublicKey } = await testSigner('rs-test', 'root')
    const gateways = new Gateways({ url, network: network.name, folder: await at('gateways'), rootPublicKey, key })
    this.#closing.push(() => gateways.stop())
    await gateways.start(GATEWAYS)
    gateways.verify(() => fleet.certificates())
    const partner = await Partner.open({ url, network: network.name, folder: await at('partner') }, genesisFile)
    this.#closing.push(() => partner.close())
    const auditor = await Auditor.open({ url, folder: await at('auditor') }, genesisFile)
    const watch = new Watch(na.watched())
    this.#closing.push(() => watch.stop())
    this.#participants = { na, root, fleet, gateways, auditor, partner, business, watch }
    await this.#work()
  }

  /** Announce, follow, switch, renew, retire. */
  async succeed(round: number, undone: Undone | undefined): Promise<JsonObject> {
    const { na, root } = this.#all
    const before = na.state
    const next = await root.succeed(before, { keyId: `na-${round + 1}`, seed: `live-${round + 1}` })
    const killed: string[] = []
    await this.#announce(next)
    if (undone === 'before the switch') await this.#undoAnnounced(before, next)
    else {
      killed.push(await this.#switch(next))
      if (undone === 'after the switch') {
        const back = await root.succeed(next, before.key)
        await this.#announce(back)
        killed.push(await this.#switch(back))
      }
      await this.#renew()
      await this.#retire()
    }
    await this.#work()
    return { key: na.state.key.keyId, killed, ...(undone === undefined ? {} : { undone }) }
  }

  async finish(): Promise<void> {
    const { na, fleet, auditor, gateways, watch } = this.#all
    await this.#until('heartbeats of all nodes', async () => {
      const active = await na.activeNodes()
      return (await fleet.certificates()).every(({ node_public_key }) => active.has(node_public_key))
    }).catch((error: unknown) => this.found.push(`nodes are lost: ${String(error)}`))
    await watch.stop()
    await gateways.checkAll(na.state.key.keyId)
    await na.command('authority', 'verify').catch((error: unknown) => this.found.push(`verify-db: ${said(error)}`))
    await auditor.audit(na.settings())
    await auditor.finish(na.state, na.events)
    // Stopped first, so that a closed connection is not counted as a refusal.
    await gateways.stop()
  }

  allFound(): readonly string[] {
    if (this.#participants === undefined) return this.found
    const { fleet, gateways, auditor, partner, watch } = this.#participants
    return [...this.found, ...watch.found, ...fleet.found, ...gateways.found, ...auditor.found, ...partner.found]
  }

  figures(): JsonObject {
    if (this.#participants === undefined) return {}
    const { na, fleet, gateways, auditor, partner, watch } = this.#participants
    return {
      nodes: fleet.size,
      ...fleet.figures(),
      ...gateways.figures(),
      ...auditor.facts,
      imports: partner.imports,
      authority_kills: na.kills,
      longest_away_ms: na.longestAwayMs,
      ...watch.figures(),
    }
  }

  /** In reverse order. Each is stopped even if another one fails. */
  async close(): Promise<void> {
    for (const close of this.#closing.toReversed())
      await close().catch((error: unknown) => this.found.push(`at the end: ${said(error)}`))
  }

  get #all(): Participants {
    if (this.#participants === undefined) throw new Error('the participants are not started')
    return this.#participants
  }

  /** Waits until every node has reported the new block to the authority. */
  async #announce(next: SignedKey): Promise<void> {
    const { na, fleet, gateways, partner } = this.#all
    const kill = this.#random.below(4)
    if (kill === 0) await na.announceKilled(next, 'audited:authority_key_announced')
    if (kill === 1) await na.announceKilled(next, 'committed:authority_key_announced')
    await na.announce(next)
    if (kill === 2) await this.#restart()
    await Promise.all([
      gateways.follow(next.key.keyId),
      partner.follow(),
      this.#random.chance(30) ? fleet.killCrew() : undefined,
      this.#random.chance(50) ? fleet.killCommand() : undefined,
    ])
    const wanted = `${fleet.size} of ${fleet.size} nodes have the new block`
    await this.#until('followers', async () => (await na.step('status', next)).includes(wanted), ASK_EVERY_MS)
  }

  /**
   * Kills the switch at the next point, then makes it, while the authority serves. Before the COMMIT the old key must
   * still work.
   */
  async #switch(next: SignedKey): Promise<string> {
    const { na, gateways, fleet } = this.#all
    const point = SWITCH_POINTS[this.#switches++ % SWITCH_POINTS.length] ?? SWITCH_POINTS[0]
    const shown = await na.rotate(...gateways.options)
    if (!shown.includes(`${GATEWAYS} of ${GATEWAYS} have a key ${next.key.keyId}`))
      this.found.push(`rotate-key does not see the gateways: ${shown}`)
    const gateway = this.#random.chance(30) ? gateways.killOne(this.#random) : undefined
    const isMade = await na.switchKilled(point)
    await na.switchTo(next, { isMade })
    if (this.#random.chance(30)) await this.#restart()
    await gateway
    if (this.#random.chance(30)) await fleet.killCommand()
    return point
  }

  /** Announced, followed, and undone by the root: the key never changes. */
  async #undoAnnounced(before: SignedKey, next: SignedKey): Promise<void> {
    const { na, root, gateways } = this.#all
    const back = await root.succeed(next, before.key)
    await this.#announce(back)
    na.goOnWith(back)
    await gateways.follow(back.key.keyId)
  }

  /** At the same time nodes are killed, an operator renews one by hand, an auditor exports and the partner imports. */
  async #renew(): Promise<void> {
    const { na, fleet, auditor } = this.#all
    const disturb = async (): Promise<void> => {
      await pause(this.#random.below(8000))
      if (this.#random.chance(40)) await fleet.killCrew()
      await fleet.killCommand()
    }
    await Promise.all([
      disturb(),
      fleet.renewOneByCommand(),
      this.#work().then(() => auditor.audit(na.settings())),
      this.#until('certificates of the new key', async () =>
        (await fleet.certificates()).every(({ issued_by }) => issued_by === na.state.key.keyId),
      ),
    ])
  }

  async #retire(): Promise<void> {
    const { na, gateways } = this.#all
    const points = ['audited:authority_key_retired', 'committed:authority_key_retired'] as const
    await na.retire(this.#random.chance(50) ? this.#random.pick(points) : undefined)
    await gateways.follow(na.state.key.keyId)
  }

  #restart(): Promise<void> {
    const { na, watch } = this.#all
    return watch.without(() => na.killAndStart())
  }

  /** Makes calls under the current key; the partner and the auditor check them. */
  async #work(): Promise<void> {
    const { fleet, business, partner, auditor } = this.#all
    const { member, revoked, decision, anchor } = await business.work()
    const [certificate] = await fleet.certificates()
    await partner.pull(member, revoked)
    await auditor.collect([member, decision, ...(certificate === undefined ? [] : [certificate])], anchor)
  }

  async #until(what: string, isDone: () => Promise<boolean>, everyMs = CHECK_EVERY_MS): Promise<void> {
    const end = performance.now() + PATIENCE_MS
    while (performance.now() < end) {
      if (await isDone()) return
      const lost = this.#all.fleet.found[0]
      // Reports the violation at once, because a lost node does not recover.
      if (lost !== undefined) throw new Error(`waiting for ${what}: ${lost}`)
      await pause(everyMs)
    }
    throw new Error(`still waiting for ${what}`)
  }
}

function said(error: unknown): string {
  const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string }
  return `${String(error)} ${stdout} ${stderr}`.slice(0, 1000)
}
