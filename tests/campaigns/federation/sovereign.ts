import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readAuthoritySettings, type RunningAuthority, startAuthority } from '@chancery/authority'
import { type JsonObject, readGenesisBlock, readInstant, readJson } from '@chancery/protocol'
import { requireValues, silentLog } from '@chancery/service-kit'
import {
  accepted,
  createMigratedDatabase,
  createTestNetwork,
  operatorCaller,
  ownKeysOf,
  runTestStep,
  send,
  signSuccession,
  testSigner,
} from '@chancery/testkit'
import type { Backend, ManualClock, Succeeded, TestDatabase, TestNetwork, TestResponse } from '@chancery/testkit'
import type { ModelAttestation, ModelFeed, ModelTreaty } from './model.ts'

interface IssuedTreaty extends ModelTreaty {
  readonly record: JsonObject
}

export interface IssuedAttestation extends ModelAttestation {
  readonly record: JsonObject
  /** Name of the seed of the subject's key. */
  readonly subjectSeed: string
}

/** A partner as the operator registered it. */
interface ModelPartner {
  importFeeds: boolean
  isPaused: boolean
  interval: number
  /** Null: the setting of the authority. */
  maxAge: number | null
}

interface SovereignParts {
  readonly name: string
  readonly clock: ManualClock
  readonly backend: Backend
  readonly maxFeedAge: number
}

/** One authority with its own root, keys and database, and what the campaign knows about it. */
export class Sovereign {
  readonly name: string
  readonly maxFeedAge: number
  readonly treaties: IssuedTreaty[] = []
  readonly attestations: IssuedAttestation[] = []
  readonly feeds = new Map<number, ModelFeed>()
  readonly partners = new Map<string, ModelPartner>()
  /** Lowest sequence of an issuer that a good pull has certainly imported. Stays when the partner is removed. */
  readonly imported = new Map<string, number>()
  /** Issuers whose feeds may have been imported. */
  readonly mayHaveImported = new Set<string>()
  readonly keys: string[] = []
  readonly #network: TestNetwork
  readonly #database: TestDatabase
  readonly #clock: ManualClock
  readonly #folder: string
  #signed: Succeeded
  #running: RunningAuthority | undefined

  private constructor(
    { name, clock, maxFeedAge }: SovereignParts,
    network: TestNetwork,
    database: TestDatabase,
    folder: string,
    signed: Succeeded,
  ) {
    this.name = name
    this.maxFeedAge = maxFeedAge
    this.#network = network
    this.#database = database
    this.#clock = clock
    this.#folder = folder
    this.#signed = signed
    this.keys.push(network.authority.publicKey)
  }

  static async open(parts: SovereignParts): Promise<Sovereign> {
    const keys = ownKeysOf(parts.name)
    const network = await createTestNetwork(parts.name, keys)
    const database = await createMigratedDatabase(parts.backend)
    const folder = await mkdtemp(join(tmpdir(), 'chancery-federation-'))
    const genesis = readGenesisBlock(readJson(await readFile(network.settings['GENESIS_FILE'] ?? '', 'utf8')))
    const signed = { genesis, key: { keyId: keys.keyId, seed: keys.seed }, rootSeed: keys.rootSeed }
    const one = new Sovereign(parts, network, database, folder, signed)
    await one.start()
    return one
  }

  get url(): string {
    return this.#serving().url
  }

  get rootKey(): string {
    return this.#signed.genesis.root_public_key
  }

  /** The key that signs now. */
  get key(): string {
    return this.#signed.genesis.network_authority.public_key
  }

  async start(): Promise<void> {
    const values = {
      ...this.#network.settings,
      ...this.#database.settings,
      NA_CLOCK_CHECK: 'off',
      NA_NODE_DECISIONS: 'partners',
      NA_PARTNER_ADDRESSES: 'loopback',
      NA_FOREIGN_FEED_MAX_AGE_SECONDS: String(this.maxFeedAge),
      PORT: '0',
      ...this.#signed.settings,
    }
    const text = Object.entries(values).map(([name, value]) => `${name}=${value}`)
    const settings = requireValues(
      readAuthoritySettings({ flags: {}, env: {}, envFile: { path: 'test', text: text.join('\n') } }),
    )
    this.#running = await startAuthority(settings, { log: silentLog, clock: this.#clock })
  }

  async stop(): Promise<void> {
    const running = this.#running
    if (running === undefined) return
    this.#running = undefined
    running.turnNotReady()
    void running.stopAccepting()
    await running.close()
  }

  /** The root signs the next key, and the authority changes to it while it is stopped. */
  async succeed(): Promise<void> {
    // The first list under the new key follows the present one. The job that publishes does not run here.
    await this.operate('GET', '/crl')
    const on = { database: this.#database, clock: this.#clock, isForced: true }
    const { history, settings, rootSeed } = this.#signed
    if (history !== undefined && settings !== undefined && rootSeed !== undefined)
      await runTestStep('retire', { ...this.#signed, history, settings, rootSeed }, on)
    const seed = `key ${this.keys.length + 1} of ${this.name}`
    const next = { keyId: `na-${this.name}-${this.keys.length + 1}`, seed }
    const signed = await signSuccession(this.#folder, this.#signed, next, this.#clock.now())
    await runTestStep('announce', signed, on)
    await this.stop()
    await runTestStep('switch', signed, on)
    this.#signed = signed
    this.keys.push((await testSigner(next.keyId, next.seed)).publicKey)
    await this.start()
  }

  operate(method: 'GET' | 'POST', target: string, body: JsonObject = {}): Promise<TestResponse> {
    const { privileged } = this.#network.operators
    const caller = operatorCaller(this.url, privileged, this.key, () => this.#clock.now())
    return method === 'GET' ? caller(method, target) : caller(method, target, body)
  }

  /** Pulls every partner that is due, as the job does. */
  async pullDue(): Promise<void> {
    const [job] = this.#serving().features.partners.jobs ?? []
    if (job === undefined) throw new Error('there is no job that pulls')
    await job.run(new AbortController().signal)
  }

  /** Reads the own feed as every caller does, and notes this version. */
  async readFeed(): Promise<ModelFeed> {
    const record = accepted(await send(this.url, 'GET', '/sovereign-revocation-feed'))
    const feed = {
      sequence: Number(record['sequence']),
      issued_at: instantIn(record, 'issued_at'),
      ids: new Set(record['revoked_attestation_ids'] as readonly string[]),
    }
    this.feeds.set(feed.sequence, feed)
    return feed
  }

  async close(): Promise<void> {
    await this.stop()
    await this.#database.drop()
    await this.#network.remove()
    await rm(this.#folder, { recursive: true, force: true })
  }

  #serving(): RunningAuthority {
    if (this.#running === undefined) throw new Error(`${this.name} is stopped`)
    return this.#running
  }
}

/** A member that is an instant. */
export function instantIn(record: JsonObject, name: string): bigint {
  return readInstant(record[name] as string) ?? 0n
}
