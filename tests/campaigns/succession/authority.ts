import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { JsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { operatorCaller, startAuthorityProcess } from '@chancery/testkit'
import type { AuthorityProcess, SendOptions, TestDatabase, TestNetwork, TestResponse } from '@chancery/testkit'
import type { Served } from '../evidence/scenario.ts'
import { chancery } from '../lib/command.ts'
import { isKilledAt, type SignedKey } from './root-key.ts'
import type { Watched } from './watch.ts'

const READY_WITHIN_MS = 30_000
/**
 * Nodes renew within some heartbeats, also those that were killed. A certificate that was used and left ends when its node
 * was silent with it for five minutes.
 */
const RETIRED_WITHIN_MS = 480_000
const RETIRE_EVERY_MS = 3000

type Settings = Readonly<Record<string, string>>

/**
 * The authority whose keys change while it runs, by `authority rotate-key`. The instance that nodes call is killed and
 * restarted repeatedly; a second one runs all the time on PostgreSQL.
 */
export class SuccessionAuthority implements Served {
  readonly url: string
  readonly #network: TestNetwork
  readonly #database: TestDatabase
  readonly #own: Settings
  #announced: SignedKey | undefined
  /** How often each event was committed. */
  readonly #events = { authority_key_announced: 0, authority_key_succeeded: 0, authority_key_retired: 0 }
  #process: AuthorityProcess
  readonly #other: AuthorityProcess | undefined
  #state: SignedKey
  #kills = 0
  #longestAwayMs = 0

  private constructor(
    parts: { readonly network: TestNetwork; readonly database: TestDatabase; readonly own: Settings },
    [process, other]: readonly [AuthorityProcess, AuthorityProcess?],
    state: SignedKey,
  ) {
    this.#network = parts.network
    this.#database = parts.database
    this.#own = parts.own
    this.#process = process
    this.#other = other
    this.#state = state
    this.url = process.url
  }

  static async start(
    network: TestNetwork,
    database: TestDatabase,
    { folder, state, instances }: { readonly folder: string; readonly state: SignedKey; readonly instances: 1 | 2 },
  ): Promise<SuccessionAuthority> {
    const own = {
      EVIDENCE_STORE: 'on',
      NA_HEARTBEAT_SECONDS: '10',
      NA_DRAIN_SECONDS: '0',
      RENEWAL_GRACE_SECONDS: '5',
      NA_HIGH_WATER_FILES: join(folder, 'mark.json'),
      // An instance that is killed and started again under another name counts as two for three minutes.
      NA_INSTANCE_ID: 'one',
    }
    const settings = { ...database.settings, ...own }
    const process = await startAuthorityProcess({ network, settings })
    if (instances === 1) return new SuccessionAuthority({ network, database, own }, [process], state)
    const otherOwn = { NA_HIGH_WATER_FILES: join(folder, 'other-mark.json'), NA_INSTANCE_ID: 'two' }
    const other = await startAuthorityProcess({ network, settings: { ...settings, ...otherOwn } })
    return new SuccessionAuthority({ network, database, own }, [process, other], state)
  }

  /** The current signing key. */
  get state(): SignedKey {
    return this.#state
  }

  get kills(): number {
    return this.#kills
  }

  get longestAwayMs(): number {
    return Math.round(this.#longestAwayMs)
  }

  get events(): Readonly<Record<string, number>> {
    return this.#events
  }

  settings(of: SignedKey = this.#state): Settings {
    return { ...this.#network.settings, ...this.#database.settings, ...this.#own, ...of.settings }
  }

  /** The settings that the authority was started with, before any succession. */
  get #running(): Settings {
    return { ...this.#network.settings, ...this.#database.settings, ...this.#own }
  }

  request(method: string, target: string, options?: SendOptions): Promise<TestResponse> {
    return this.#process.request(method, target, options)
  }

  /** An operator who follows the keys. */
  operator(method: string, target: string, body?: JsonObject, url = this.url): Promise<TestResponse> {
    const { privileged } = this.#network.operators
    return operatorCaller(url, privileged, this.#state.publicKey, () => systemClock.now())(method, target, body)
  }

  watched(): readonly Watched[] {
    const instances = [() => this.#process, ...(this.#other === undefined ? [] : [() => this.#other ?? this.#process])]
    return instances.map((instance) => ({
      read: (target) => instance().request('GET', target),
      operator: (method, target, body) => this.operator(method, target, body, instance().url),
    }))
  }

  as(_name: string): (method: string, target: string, body?: JsonObject) => Promise<TestResponse> {
    return (method, target, body) => this.operator(method, target, body)
  }

  command(...words: readonly string[]): Promise<string> {
    return chancery(this.settings(), ...words)
  }

  /** The next step by the settings in use. */
  rotate(...more: readonly string[]): Promise<string> {
    return chancery(this.#running, 'authority', 'rotate-key', ...more)
  }

  step(step: string, of: SignedKey, ...more: readonly string[]): Promise<string> {
    return chancery(this.settings(of), 'authority', 'rotate-key', '--step', step, ...more)
  }

  async announce(next: SignedKey): Promise<void> {
    await this.rotate(...documents(next))
    if (this.#announced !== next) this.#events.authority_key_announced += 1
    this.#announced = next
  }

  /** Kills the command, then announces the key again. */
  async announceKilled(next: SignedKey, point: `${'audited' | 'committed'}:authority_key_announced`): Promise<void> {
    await this.#kill(point, this.#running, 'rotate-key', ...documents(next))
    if (point !== 'committed:authority_key_announced') return
    this.#events.authority_key_announced += 1
    this.#announced = next
  }

  /** True when the switch was committed before the kill. */
  async switchKilled(point: string): Promise<boolean> {
    await this.#kill(point, this.#running, 'rotate-key', '--yes')
    return point.startsWith('committed:')
  }

  /** Switches, unless that was done before, and waits until the running authority signs with the key. */
  async switchTo(next: SignedKey, { isMade }: { readonly isMade: boolean }): Promise<void> {
    if (!isMade) await this.rotate('--yes')
    this.#events.authority_key_succeeded += 1
    this.#state = next
    const end = performance.now() + READY_WITHIN_MS
    while (!(await this.request('GET', '/crl')).text.includes(`"issuer":"${next.key.keyId}"`)) {
      if (performance.now() > end) throw new Error(`it does not sign with ${next.key.keyId}`)
      await pause(100)
    }
  }

  /** The blocks changed but the key did not. */
  goOnWith(next: SignedKey): void {
    this.#state = next
  }

  /** The last step, repeated until no certificate of the former key is in use. */
  async retire(point: string | undefined): Promise<void> {
    const end = performance.now() + RETIRED_WITHIN_MS
    let said = await this.#retire(point)
    while (!said.includes(' is retired')) {
      if (performance.now() > end) throw new Error(`the former key is not retired: ${said}`)
      await pause(RETIRE_EVERY_MS)
      said = await this.#retire(point)
    }
    this.#events.authority_key_retired += 1
  }

  /** Killed at the point, when the step reaches it. Then it is repeated. */
  async #retire(point: string | undefined): Promise<string> {
    if (point !== undefined && (await isKilledAt(point, this.#running, 'authority', 'rotate-key', '--yes'))) {
      this.#kills += 1
      if (point.startsWith('committed:')) return ' is retired'
    }
    return this.rotate('--yes')
  }

  /** Killed, then started at the same address, which nodes have stored. */
  async killAndStart(): Promise<void> {
    const began = performance.now()
    this.#kills += 1
    await this.#process.kill()
    const settings = { ...this.#running, PORT: new URL(this.url).port }
    this.#process = await startAuthorityProcess({ network: this.#network, settings })
    const end = performance.now() + READY_WITHIN_MS
    while ((await this.request('GET', '/readyz')).status !== 200) {
      if (performance.now() > end) throw new Error(`it is not ready: ${(await this.request('GET', '/readyz')).text}`)
      await pause(100)
    }
    this.#longestAwayMs = Math.max(this.#longestAwayMs, performance.now() - began)
  }

  /** Keys of the nodes with a recent heartbeat. */
  async activeNodes(): Promise<ReadonlySet<string>> {
    const { nodes } = (await this.operator('GET', '/nodes')).json as unknown as {
      readonly nodes: Readonly<Record<string, { readonly node_public_key: string }>>
    }
    return new Set(Object.values(nodes).map(({ node_public_key }) => node_public_key))
  }

  async stop(): Promise<void> {
    await this.#process.kill()
    await this.#other?.kill()
  }

  async #kill(point: string, settings: Settings, ...words: readonly string[]): Promise<void> {
    this.#kills += 1
    if (!(await isKilledAt(point, settings, 'authority', ...words)))
      throw new Error(`${words.join(' ')} does not reach ${point}`)
  }
}

function documents({ key, genesisFile, historyFile = '' }: SignedKey): readonly string[] {
  return ['--next-key-id', key.keyId, '--next-genesis', genesisFile, '--next-history', historyFile]
}
