import { GatewayRefusal } from '@chancery/contract'
import type { Channel, MaybePromise } from '@chancery/service-kit'
import { readRecorded } from '../policy/tls-files.ts'
import { ConfigurationError } from '../policy/load-files.ts'
import { type Configuration, loadConfiguration } from '../policy/load-configuration.ts'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { withFollowed } from '../trust/followed-keys.ts'
import { type TrustSnapshot, assembleSnapshot } from '../trust/snapshot.ts'
import type { CurrentTrust } from '../trust/trust-state.ts'
import type { LeaseHolder } from './lease-holder.ts'
import { type TrustMessage, readIssuerMessages } from './trust-messages.ts'

interface Loaded {
  readonly snapshot: TrustSnapshot
  readonly configuration: Configuration
}

/**
 * The snapshot of a worker. A change has three steps: every worker loads it, then every worker holds new requests, then
 * every worker uses it. So no worker answers by an older list after another one answered by a newer one.
 */
export class FollowedTrust implements CurrentTrust {
  readonly #settings: GatewaySettings
  readonly #lease: LeaseHolder
  #used: Loaded
  #loaded: Loaded | undefined
  #held: PromiseWithResolvers<void> | undefined
  /** Set after the listeners are open. */
  #onConfiguration: ((configuration: Configuration) => void) | undefined

  constructor(settings: GatewaySettings, first: TrustMessage, channel: Channel, lease: LeaseHolder) {
    this.#settings = settings
    this.#lease = lease
    this.#used = this.#read(first, undefined)
    channel.serve({
      loadTrust: (message: TrustMessage) => {
        this.#loaded = this.#read(message, this.#used)
      },
      holdRequests: () => {
        this.#held ??= Promise.withResolvers()
      },
      useTrust: (version: number) => this.#use(version),
    })
  }

  get current(): TrustSnapshot {
    return this.#used.snapshot
  }

  get configuration(): Configuration {
    return this.#used.configuration
  }

  settled(): MaybePromise<void> {
    return this.#held === undefined && this.#lease.isValid() ? undefined : this.#wait()
  }

  get hasLease(): boolean {
    return this.#lease.isValid()
  }

  /** Applies the configuration in use, and every later one. */
  follow(onConfiguration: (configuration: Configuration) => void): void {
    this.#onConfiguration = onConfiguration
    onConfiguration(this.#used.configuration)
  }

  async #wait(): Promise<void> {
    do {
      await this.#held?.promise
      // A supervisor that does not respond may have ended, and another one may know a newer list.
      if (!(await this.#lease.renewed())) throw new GatewayRefusal('not_ready')
      // The supervisor may hold requests again with the same message that renewed the lease.
    } while (this.#held !== undefined)
  }

  #read({ version, files, loadedAt, followed, issuers }: TrustMessage, before: Loaded | undefined): Loaded {
    const configuration = files === undefined ? before?.configuration : this.#load(files, loadedAt)
    if (configuration === undefined) throw new Error('the first message of a supervisor has the files')
    const policy = followed === undefined ? before?.snapshot.policy : withFollowed(configuration.policy, followed)
    if (policy === undefined) throw new Error('the first message of a supervisor has the followed keys')
    const states = readIssuerMessages(issuers, policy, before?.snapshot)
    return { snapshot: assembleSnapshot(policy, states, version), configuration }
  }

  #load(files: NonNullable<TrustMessage['files']>, loadedAt: TrustMessage['loadedAt']): Configuration {
    const { configuration, problems } = loadConfiguration(this.#settings, loadedAt, readRecorded(files))
    if (configuration === undefined) throw new ConfigurationError(problems)
    return configuration
  }

  #use(version: number): void {
    const loaded = this.#loaded
    if (loaded?.snapshot.data.version !== version) throw new Error('the worker has not loaded this snapshot')
    const isOther = loaded.configuration !== this.#used.configuration
    this.#used = loaded
    this.#loaded = undefined
    if (isOther) this.#onConfiguration?.(loaded.configuration)
    this.#held?.resolve()
    this.#held = undefined
  }
}
