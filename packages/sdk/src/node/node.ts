import { verifyGenesisBlock } from '@chancery/protocol'
import type {
  Attestation,
  AuthorityKeys,
  Crl,
  Instant,
  JoinCertificate,
  PolicyManifest,
  Signer,
} from '@chancery/protocol'
import type { ApprovalStatus } from '@chancery/contract'
import type { Client } from '../client.ts'
import type { ClientOptions } from '../http/connection.ts'
import { systemClock } from '../http/system-clock.ts'
import { RequestError } from '../errors.ts'
import { type SigningFetch, signingFetch } from '../request-proof/sign.ts'
import type { ResponseCheck } from '../request-proof/response.ts'
import { sleep } from '../http/retry.ts'
import type { Fetch } from '../http/transport.ts'
import type { NodeAreas } from './areas.ts'
import { type AskOptions, nameRequest, requireNodeDecision } from './ask.ts'
import { type Expected, readStored, rejoinStored } from './certificate.ts'
import { enroll } from './enroll.ts'
import { NodeEmitter, type NodeEvents } from './events.ts'
import type { NodeOptions } from './options.ts'
import { FollowedKeys } from './followed.ts'
import { type NodeAnswer, type WaitOptions, toAnswer, waitForApproval } from './held.ts'
import { NodeLoop } from './node-loop.ts'
import { NodeLists } from './lists.ts'
import { readRenewHours } from './schedule.ts'
import { WitSource } from './wit-source.ts'
import { type AccessToken, type TokenRequest, requestToken } from '../tokens/access-token.ts'
import { type DpopKey, createDpopKey } from '../tokens/dpop.ts'
import { type TokenFetchOptions, fetchWithToken } from '../tokens/fetch-with-token.ts'

export interface FetchAsOptions {
  /**
   * `wimse`: requests have a workload identity token and its signature (docs/protocol/wimse.md), for services that know
   * WIMSE. The authority must issue tokens. Beta.
   */
  readonly profile?: 'chancery' | 'wimse'
  /** Also sign the field Authorization of a request that has it. Older services refuse such a proof. */
  readonly coverAuthorization?: boolean
  /** Every response must be signed by the service, or the call fails with ResponseUntrustedError. Beta. */
  readonly responses?: ResponseCheck
  /** Of this node, by its own network. */
  readonly attestation?: Attestation
  readonly fetch?: Fetch
}

type Rest = (ms: number, signal: AbortSignal | undefined) => Promise<void>

const FINISH_MS = 5000

/** A node that stays: it beats, renews, keeps its agent announced and its lists current until it is stopped. */
export class Node<Areas extends NodeAreas = Client> {
  readonly #loop: NodeLoop
  readonly #lists: NodeLists
  readonly #followed: FollowedKeys
  readonly #events: NodeEmitter
  readonly #stop: AbortController
  readonly #signer: Signer
  readonly #clock: () => Instant
  readonly #wits: WitSource
  readonly #ended: Promise<Error | undefined>
  #dpopKey: Promise<DpopKey> | undefined
  /** Calls with the key of this node. */
  readonly client: Areas
  readonly publicKey: string

  private constructor(parts: {
    readonly loop: NodeLoop
    readonly lists: NodeLists
    readonly followed: FollowedKeys
    readonly events: NodeEmitter
    readonly stop: AbortController
    readonly client: Areas
    readonly signer: Signer
    readonly clock: () => Instant
    readonly rest: Rest
    readonly resumed: boolean
  }) {
    this.#loop = parts.loop
    this.#lists = parts.lists
    this.#followed = parts.followed
    this.#events = parts.events
    this.#stop = parts.stop
    this.client = parts.client
    this.publicKey = parts.signer.publicKey
    this.#signer = parts.signer
    this.#clock = parts.clock
    this.#wits = new WitSource(parts.client, parts.clock)
    this.#ended = this.#run(parts.rest, parts.resumed)
  }

  /**
   * Uses the stored certificate, or joins with the invite and stores the new one; then runs until
   * {@link stop}. Listeners added at once receive all events from `started` on.
   */
  static async join(options: NodeOptions): Promise<Node> {
    const { createClient } = await import('../client.ts')
    return Node.joinWith(options, createClient)
  }

  /** As {@link join}, with another client: `nodeAreas` makes one of the areas a node needs, and loads no others. */
  static async joinWith<Areas extends NodeAreas>(
    options: NodeOptions,
    toClient: (options: ClientOptions) => Areas,
  ): Promise<Node<Areas>> {
    const { genesis, store, clock = systemClock, random = Math.random, sleep: rest = sleep } = options
    const verdict = await verifyGenesisBlock(genesis)
    if (!verdict.ok) throw new RequestError(`the genesis block is not valid: ${verdict.reason}`)
    const signer = await store.signer()
    const followed = await FollowedKeys.open(genesis, store, options.keyHistory)
    const client = toClient({ ...options, clock, node: { signer, audience: () => followed.audience } })
    const expected = (): Expected => ({
      keys: followed.keys,
      publicKey: signer.publicKey,
      now: clock(),
    })
    const text = await store.read('certificate')
    const stored = await readStored(text, expected())
    const { evidence } = options
    const certificate =
      stored ??
      (await rejoinStored({ ...options, client, followed, expected }, text)) ??
      (await enroll({ ...options, client, followed, expected, clock, pause: (ms) => rest(ms, undefined) }))
    const [events, stop] = [new NodeEmitter(), new AbortController()]
    const lists = await NodeLists.open({
      client,
      store,
      followed,
      events,
      clock,
      signal: stop.signal,
      followsCrl: options.followCrl === true,
    })
    const loop = new NodeLoop({
      client,
      store,
      lists,
      followed,
      events,
      clock,
      random,
      renewBeforeHours: readRenewHours(options.renewBeforeHours),
      expected,
      signal: stop.signal,
      status: options.status ?? 'healthy',
      agent: options.agent === undefined ? undefined : { ...options.agent, network_name: genesis.network_name },
      certificate,
      evidence,
    })
    const resumed = stored !== undefined
    return new Node({ loop, lists, followed, events, stop, client, signer, clock, rest, resumed })
  }

  /** The certificate in use. */
  get certificate(): JoinCertificate {
    return this.#loop.certificate
  }

  /** The keys of the authority, as the root of the genesis block signed them last. */
  get keys(): AuthorityKeys {
    return this.#followed.keys
  }

  /**
   * The revocation list this node holds, with {@link NodeOptions.followCrl}; checked, and never older than one it held before. Its entries become values
   * when `revoked_certificates` is read, which takes much memory for a list of many megabytes.
   */
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
   * certificate of the moment. With an attestation of this node the proof is of profile v2: a service of another
   * network can then ask its authority for a decision. With `profile: 'wimse'` it is a proof of WIMSE.
   */
  fetchAs(audience: string, options: FetchAsOptions | Fetch = {}): SigningFetch {
    const given: FetchAsOptions = typeof options === 'function' ? { fetch: options } : options
    const { profile, ...rest } = given
    if (profile === 'wimse' && rest.attestation !== undefined)
      throw new RequestError('the profile of WIMSE carries no attestation')
    return signingFetch(() => ({
      signer: this.#signer,
      certificate: this.certificate,
      audience,
      clock: this.#clock,
      ...rest,
      ...(profile === 'wimse' ? { wit: () => this.#wits.current(this.certificate) } : {}),
    }))
  }

  /**
   * An access token of a service, from the gateway that issues its tokens: any OAuth resource server verifies it. The
   * token is bound to a key of this process, unless `bearer` is set. Beta.
   */
  async tokenFrom(issuer: string, request: TokenRequest, fetch: Fetch = globalThis.fetch): Promise<AccessToken> {
    this.#dpopKey ??= createDpopKey()
    const dpopKey = request.dpopKey ?? (await this.#dpopKey)
    const identity = { signer: this.#signer, certificate: this.certificate, clock: this.#clock, fetch }
    return requestToken(issuer, { ...request, dpopKey }, identity)
  }

  /** A `fetch` for one service with an access token that is renewed at half of its life. Beta. */
  fetchWithToken(resource: string, { issuer, fetch = globalThis.fetch, ...request }: TokenFetchOptions): Fetch {
    const renew = (): Promise<AccessToken> => this.tokenFrom(issuer, { ...request, resource }, fetch)
    return fetchWithToken({ resource, clock: this.#clock, fetch, renew })
  }

  /**
   * Asks the authority for a decision on an attestation of this node or, with `callerBasis(caller)`, of the caller of
   * a relay. Verifies the decision before it returns. A denial is a result, too: act only when `decision.authorized` is
   * true. `held`: a person must approve first. Wait with {@link waitForApproval} and ask again with `approval_id`, or
   * let `approval: 'wait'` do both.
   */
  async ask(capability: string, { signal, approval, waitSeconds, ...options }: AskOptions): Promise<NodeAnswer> {
    const answer = await this.#askOnce(capability, options, signal)
    if (approval !== 'wait' || !answer.held) return answer
    const { approvalId: approval_id } = answer
    const limits = {
      ...(waitSeconds === undefined ? {} : { waitSeconds }),
      ...(signal === undefined ? {} : { signal }),
    }
    const { state } = await this.waitForApproval(approval_id, limits)
    if (state === 'pending') return answer
    // Another question with the same content: the key of the first one would repeat its answer.
    const { idempotency_key: _key, ...again } = options
    return this.#askOnce(capability, { ...again, approval_id }, signal)
  }

  /** Waits until a person has decided about a held request, and returns its state. It is no permission: ask again. */
  waitForApproval(approvalId: string, options: WaitOptions = {}): Promise<ApprovalStatus> {
    return waitForApproval(this.client, approvalId, options, this.#clock)
  }

  async #askOnce(
    requested_capability: string,
    options: Omit<AskOptions, 'approval' | 'signal' | 'waitSeconds'>,
    signal: AbortSignal | undefined,
  ): Promise<NodeAnswer> {
    const { cert_id, network_name } = this.certificate
    const request = { ...nameRequest(options, network_name), requested_capability, cert_id }
    const response = await this.client.boundary.request(request, signal === undefined ? {} : { signal })
    const { publicKey } = this
    await requireNodeDecision(response, { request, publicKey, authorityKeys: this.keys, now: this.#clock() })
    return toAnswer(response)
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
        await this.#loop.step()
        // A pause ended by stop() is no failure.
        if (!signal.aborted) await rest(this.#loop.nextDelayMs(), signal).catch(ignoreStop(signal))
      }
    } catch (error) {
      ending = error instanceof Error ? error : new Error(String(error))
    }
    await this.#loop.finish(FINISH_MS)
    this.#events.emit('stopped', { error: ending })
    return ending
  }
}

function ignoreStop(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}
