import { verifyGenesisBlock } from '@chancery/protocol'
import type {
  AuthorityKeys,
  Crl,
  GenesisBlock,
  Instant,
  JoinCertificate,
  KeyHistory,
  PolicyManifest,
  Signer,
} from '@chancery/protocol'
import type { AgentFacts } from '../areas/agents.ts'
import { createClient } from '../client.ts'
import { systemClock } from '../system-clock.ts'
import type { Client, ClientOptions } from '../client.ts'
import { RequestError } from '../errors.ts'
import { provingFetch } from '../request-proof/sign.ts'
import type { ProvingFetch } from '../request-proof/sign.ts'
import { sleep } from '../retry.ts'
import type { Fetch } from '../transport.ts'
import { readKept } from './certificate.ts'
import type { Expected } from './certificate.ts'
import { enroll } from './enroll.ts'
import { NodeEmitter } from './events.ts'
import type { NodeEvents } from './events.ts'
import { FollowedKeys } from './followed.ts'
import { NodeLife } from './life.ts'
import { NodeLists } from './lists.ts'
import type { NodeStore } from './store.ts'

export interface NodeOptions extends Omit<ClientOptions, 'node' | 'operator'> {
  /**
   * The genesis block of the network, from a place you trust: it names the authority this node speaks to,
   * and the root key whose later blocks the node follows.
   */
  readonly genesis: GenesisBlock
  /** With it: the keys its authority had before, as its root signed them. */
  readonly keyHistory?: KeyHistory
  /** Where key, certificate and lists are kept. */
  readonly store: NodeStore
  /** Spent when the store holds no usable certificate. */
  readonly invite?: string | (() => Promise<string>)
  /**
   * The id of a certificate of this node's key that was issued and never arrived (see JoinInterruptedError). It is
   * renewed, which needs no invite. Looked at when the store holds no usable certificate.
   */
  readonly lostCertificate?: string
  readonly validityHours?: number
  /** Shown in the roster; asked before every heartbeat when it is a function. */
  readonly status?: string | (() => string)
  /** Kept announced as long as the node runs. */
  readonly agent?: Omit<AgentFacts, 'network_name'>
  /** Pauses between steps; tests and rehearsals bring their own beside `clock`. */
  readonly sleep?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
  /** From 0 up to 1, for the spread of renewals and retries. */
  readonly random?: () => number
}

type Rest = (ms: number, signal: AbortSignal | undefined) => Promise<void>

const SETTLE_MS = 5000

/** A node that stays: it beats, renews, keeps its agent announced and its lists current until it is stopped. */
export class Node {
  readonly #life: NodeLife
  readonly #lists: NodeLists
  readonly #followed: FollowedKeys
  readonly #events: NodeEmitter
  readonly #stop: AbortController
  readonly #signer: Signer
  readonly #clock: () => Instant
  readonly #ended: Promise<Error | undefined>
  /** Calls with the key of this node. */
  readonly client: Client
  readonly publicKey: string

  private constructor(parts: {
    readonly life: NodeLife
    readonly lists: NodeLists
    readonly followed: FollowedKeys
    readonly events: NodeEmitter
    readonly stop: AbortController
    readonly client: Client
    readonly signer: Signer
    readonly clock: () => Instant
    readonly rest: Rest
    readonly resumed: boolean
  }) {
    this.#life = parts.life
    this.#lists = parts.lists
    this.#followed = parts.followed
    this.#events = parts.events
    this.#stop = parts.stop
    this.client = parts.client
    this.publicKey = parts.signer.publicKey
    this.#signer = parts.signer
    this.#clock = parts.clock
    this.#ended = this.#run(parts.rest, parts.resumed)
  }

  /**
   * Takes up the certificate in the store, or joins with the invite and keeps the new one; then runs until
   * {@link stop}. Listeners added at once hear everything from `started` on.
   */
  static async join(options: NodeOptions): Promise<Node> {
    const { genesis, store, clock = systemClock, random = Math.random, sleep: rest = sleep } = options
    const verdict = await verifyGenesisBlock(genesis)
    if (!verdict.ok) throw new RequestError(`the genesis block does not hold: ${verdict.reason}`)
    const signer = await store.signer()
    const followed = await FollowedKeys.open(genesis, store, options.keyHistory)
    const client = createClient({ ...options, clock, node: { signer, audience: () => followed.audience } })
    const expected = (): Expected => ({
      keys: followed.keys,
      publicKey: signer.publicKey,
      now: clock(),
    })
    const kept = await readKept(await store.read('certificate'), expected())
    const { invite, lostCertificate, validityHours } = options
    const certificate =
      kept ?? (await enroll({ client, store, followed, expected, clock, invite, lostCertificate, validityHours }))
    const [events, stop] = [new NodeEmitter(), new AbortController()]
    const lists = await NodeLists.open({ client, store, followed, events, clock, signal: stop.signal })
    const life = new NodeLife({
      client,
      store,
      lists,
      followed,
      events,
      clock,
      random,
      expected,
      signal: stop.signal,
      status: options.status ?? 'healthy',
      agent: options.agent === undefined ? undefined : { ...options.agent, network_name: genesis.network_name },
      certificate,
    })
    const resumed = kept !== undefined
    return new Node({ life, lists, followed, events, stop, client, signer, clock, rest, resumed })
  }

  /** The certificate in use. */
  get certificate(): JoinCertificate {
    return this.#life.certificate
  }

  /** The keys of the authority, as the root of the genesis block vouches for them now. */
  get keys(): AuthorityKeys {
    return this.#followed.keys
  }

  /** The revocation list this node holds; checked, and never older than one it held before. */
  get crl(): Crl | undefined {
    return this.#lists.crl
  }

  get policy(): PolicyManifest | undefined {
    return this.#lists.policy
  }

  /** Calls the listener for every such event; the answer takes it away again. */
  on<Name extends keyof NodeEvents>(name: Name, listener: (event: NodeEvents[Name]) => void): () => void {
    return this.#events.on(name, listener)
  }

  /**
   * A `fetch` that proves to the service named `audience` who calls (docs/protocol/request-proof.md), with the
   * certificate of the moment.
   */
  fetchAs(audience: string, fetch?: Fetch): ProvingFetch {
    return provingFetch(() => ({
      signer: this.#signer,
      certificate: this.certificate,
      audience,
      clock: this.#clock,
      ...(fetch === undefined ? {} : { fetch }),
    }))
  }

  /** Resolves when the node has ended: with the error that ended it, or undefined after {@link stop}. */
  get ended(): Promise<Error | undefined> {
    return this.#ended
  }

  /** Lets a call under way end, takes the agent out of the registry and stops. May be called more than once. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the node was stopped'))
    await this.#ended
  }

  async #run(rest: Rest, resumed: boolean): Promise<Error | undefined> {
    const { signal } = this.#stop
    let ending: Error | undefined
    // First of all the one who called join() gets the node, and may listen.
    await new Promise((resolve) => setTimeout(resolve, 0))
    this.#events.emit('started', { certificate: this.certificate, resumed })
    try {
      while (!signal.aborted) {
        await this.#life.step()
        // A pause ended by stop() is no failure.
        if (!signal.aborted) await rest(this.#life.restMs(), signal).catch(ignoreStop(signal))
      }
    } catch (error) {
      ending = error instanceof Error ? error : new Error(String(error))
    }
    await this.#life.settle(SETTLE_MS)
    this.#events.emit('stopped', { error: ending })
    return ending
  }
}

function ignoreStop(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}
