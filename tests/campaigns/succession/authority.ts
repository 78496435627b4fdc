import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { JsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { operatorCaller, startAuthorityProcess } from '@chancery/testkit'
import type { AuthorityProcess, SendOptions, TestResponse, TestDatabase, TestNetwork } from '@chancery/testkit'
import type { Served } from '../evidence/scenario.ts'
import { chancery, isKilledAt } from './commands.ts'
import type { SignedKey } from './root-key.ts'

const READY_WITHIN_MS = 30_000

type Settings = Readonly<Record<string, string>>

/** The authority whose keys change, by the commands of docs/operate/keys.md. It is killed and restarted repeatedly. */
export class SuccessionAuthority implements Served {
  readonly url: string
  readonly #network: TestNetwork
  readonly #database: TestDatabase
  readonly #own: Settings
  /** How often each event was committed. */
  readonly #events = { authority_key_announced: 0, authority_key_succeeded: 0, authority_key_retired: 0 }
  #process: AuthorityProcess
  #state: SignedKey
  #kills = 0
  #awaySince = 0
  #longestAwayMs = 0

  private constructor(
    parts: { readonly network: TestNetwork; readonly database: TestDatabase; readonly own: Settings },
    process: AuthorityProcess,
    state: SignedKey,
  ) {
    this.#network = parts.network
    this.#database = parts.database
    this.#own = parts.own
    this.#process = process
    this.#state = state
    this.url = process.url
  }

  static async start(
    network: TestNetwork,
    database: TestDatabase,
    folder: string,
    state: SignedKey,
  ): Promise<SuccessionAuthority> {
    const own = {
      EVIDENCE_STORE: 'on',
      NA_HEARTBEAT_SECONDS: '10',
      NA_DRAIN_SECONDS: '0',
      RENEWAL_GRACE_SECONDS: '5',
      NA_HIGH_WATER_FILES: join(folder, 'mark.json'),
    }
    const process = await startAuthorityProcess({ network, settings: { ...database.settings, ...own } })
    return new SuccessionAuthority({ network, database, own }, process, state)
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

  request(method: string, target: string, options?: SendOptions): Promise<TestResponse> {
    return this.#process.request(method, target, options)
  }

  /** An operator who follows the keys. */
  operator(method: string, target: string, body?: JsonObject): Promise<TestResponse> {
    const { privileged } = this.#network.operators
    return operatorCaller(this.url, privileged, this.#state.publicKey, () => systemClock.now())(method, target, body)
  }

  as(_name: string): (method: string, target: string, body?: JsonObject) => Promise<TestResponse> {
    return (method, target, body) => this.operator(method, target, body)
  }

  command(...words: readonly string[]): Promise<string> {
    return chancery(this.settings(), ...words)
  }

  step(step: string, of: SignedKey, ...more: readonly string[]): Promise<string> {
    return chancery(this.settings(of), 'authority', 'key-succession', '--step', step, ...more)
  }

  async announce(next: SignedKey): Promise<void> {
    await this.step('announce', next)
    this.#events.authority_key_announced += 1
  }

  /** Kills the command, then announces the key again. */
  async announceKilled(next: SignedKey, point: `${'audited' | 'committed'}:authority_key_announced`): Promise<void> {
    await this.#kill(point, next, 'announce')
    if (point === 'committed:authority_key_announced') this.#events.authority_key_announced += 1
  }

  /** True when the switch was committed before the kill. */
  async switchKilled(next: SignedKey, point: string): Promise<boolean> {
    await this.#kill(point, next, 'switch')
    return point.startsWith('committed:')
  }

  /** Switches, unless that was done before, and starts with the new key. */
  async switchTo(next: SignedKey): Promise<void> {
    await this.step('switch', next)
    this.#events.authority_key_succeeded += 1
    this.#state = next
    await this.back()
  }

  /** The blocks changed but the key did not, so the authority starts with the settings of the newer block. */
  async goOnWith(next: SignedKey): Promise<void> {
    this.#state = next
    await this.back()
  }

  async retire({ isForced, point }: { readonly isForced: boolean; readonly point: string | undefined }): Promise<void> {
    const more = isForced ? ['--yes'] : []
    if (point !== undefined) await this.#kill(point, this.#state, 'retire', ...more)
    await this.step('retire', this.#state, ...more)
    this.#events.authority_key_retired += 1
  }

  async away(isKilled: boolean): Promise<void> {
    this.#awaySince = performance.now()
    if (isKilled) this.#kills += 1
    await (isKilled ? this.#process.kill() : this.#process.stop())
  }

  /** Starts at the same address, which nodes have stored. */
  async back(): Promise<void> {
    const settings = { ...this.settings(), PORT: new URL(this.url).port }
    this.#process = await startAuthorityProcess({ network: this.#network, settings })
    const end = performance.now() + READY_WITHIN_MS
    while ((await this.request('GET', '/readyz')).status !== 200) {
      if (performance.now() > end) throw new Error(`it is not ready: ${(await this.request('GET', '/readyz')).text}`)
      await pause(100)
    }
    this.#longestAwayMs = Math.max(this.#longestAwayMs, performance.now() - this.#awaySince)
  }

  async killAndStart(): Promise<void> {
    await this.away(true)
    await this.back()
  }

  /** Keys of the nodes with a recent heartbeat. */
  async activeNodes(): Promise<ReadonlySet<string>> {
    const { nodes } = (await this.operator('GET', '/nodes')).json as unknown as {
      readonly nodes: Readonly<Record<string, { readonly node_public_key: string }>>
    }
    return new Set(Object.values(nodes).map(({ node_public_key }) => node_public_key))
  }

  stop(): Promise<void> {
    return this.#process.kill()
  }

  async #kill(point: string, of: SignedKey, step: string, ...more: readonly string[]): Promise<void> {
    this.#kills += 1
    const words = ['authority', 'key-succession', '--step', step, ...more]
    if (!(await isKilledAt(point, this.settings(of), ...words))) throw new Error(`${step} does not reach ${point}`)
  }
}
