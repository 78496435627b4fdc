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

/** The authority whose keys change while it runs, by `authority rotate-key`. It is killed and restarted repeatedly. */
export class SuccessionAuthority implements Served {
  readonly url: string
  readonly #network: TestNetwork
  readonly #database: TestDatabase
  readonly #own: Settings
  #announced: SignedKey | undefined
  readonly #calls = { count: 0, longest: 0 }
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

  /** The settings that the authority was started with, before any succession. */
  get #running(): Settings {
    return { ...this.#network.settings, ...this.#database.settings, ...this.#own }
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

  /** The next step by the settings in use. */
  rotate(...more: readonly string[]): Promise<string> {
    return chancery(this.#running, 'authority', 'rotate-key', ...more)
  }

  step(step: string, of: SignedKey, ...more: readonly string[]): Promise<string> {
    return chancery(this.settings(of), 'authority', 'key-succession', '--step', step, ...more)
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

  /** Calls all the time, of readers and of an operator: what is refused or fails is returned. */
  watchCalls(): { readonly stop: () => Promise<readonly string[]> } {
    const failed: string[] = []
    let isRunning = true
    const call = async (method: string, path: string, send: () => Promise<TestResponse>): Promise<void> => {
      while (isRunning) {
        const began = performance.now()
        const said = await send().then(
          ({ status, text }) => (status < 400 ? undefined : `${status} ${text.slice(0, 200)}`),
          (error: unknown) => String(error),
        )
        this.#calls.longest = Math.max(this.#calls.longest, performance.now() - began)
        this.#calls.count += 1
        if (said !== undefined) failed.push(`${method} ${path} at a switch: ${said}`)
        await pause(100)
      }
    }
    const attestation = { subject_id: 'watcher', roles: ['role:client'] }
    const watchers = [
      call('GET', '/crl', () => this.request('GET', '/crl')),
      call('GET', '/nodes', () => this.operator('GET', '/nodes')),
      call('POST', '/admin/attestations', () => this.operator('POST', '/admin/attestations', attestation)),
    ]
    return {
      stop: async () => {
        isRunning = false
        await Promise.all(watchers)
        return failed
      },
    }
  }

  get callFigures(): { readonly calls_at_switches: number; readonly longest_call_ms: number } {
    return { calls_at_switches: this.#calls.count, longest_call_ms: Math.round(this.#calls.longest) }
  }

  async retire({ isForced, point }: { readonly isForced: boolean; readonly point: string | undefined }): Promise<void> {
    const more = isForced ? ['--yes'] : []
    if (point !== undefined) await this.#kill(point, this.settings(), 'key-succession', '--step', 'retire', ...more)
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
    const settings = { ...this.#running, PORT: new URL(this.url).port }
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

  async #kill(point: string, settings: Settings, ...words: readonly string[]): Promise<void> {
    this.#kills += 1
    if (!(await isKilledAt(point, settings, 'authority', ...words)))
      throw new Error(`${words.join(' ')} does not reach ${point}`)
  }
}

function documents({ key, genesisFile, historyFile = '' }: SignedKey): readonly string[] {
  return ['--next-key-id', key.keyId, '--next-genesis', genesisFile, '--next-history', historyFile]
}
