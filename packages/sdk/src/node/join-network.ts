import { instantOf, verifyGenesisBlock } from '@chancery/protocol'
import type { Attestation, AuthorityKeys, Instant, JoinCertificate, Signer } from '@chancery/protocol'
import { RevokedError, UsageError, VerificationError } from '../errors.ts'
import { clockOf } from '../http/call.ts'
import { sleep } from '../http/retry.ts'
import { type FetchIdentity, type FetchOptions, type SigningFetch, createSigningFetch } from '../request-proof/sign.ts'
import { type NetworkIdentity, readIdentity } from '../trust/identity.ts'
import type { Answer } from './answer.ts'
import { type NodeAreas, nodeAreas } from './areas.ts'
import { type Expected, readStored, rejoinStored, toNodeError } from './certificate.ts'
import { type AskOptions, type Asking, type Decider, askAuthority } from './decider.ts'
import { enroll } from './enroll.ts'
import { type NodeEnd, emitterOf } from './events.ts'
import { FollowedKeys } from './followed.ts'
import { NodeLists } from './lists.ts'
import { NodeLoop } from './node-loop.ts'
import type { NodeSettings } from './settings.ts'
import type { JoinOptions, NodeParts, RunOptions } from './options.ts'
import { type HeldOptions, type WaitOptions, askAndWait, waitForApproval } from './held.ts'
import { readRenewHours } from './schedule.ts'
import { WitSource } from './wit-source.ts'
import type { ApprovalStatus } from '@chancery/contract'
import type { Fetch } from '../http/transport.ts'
import { type AccessToken, type TokenRequest, requestToken } from '../tokens/access-token.ts'
import { type DpopKey, createDpopKey } from '../tokens/dpop.ts'
import { type TokenFetchOptions, fetchWithToken } from '../tokens/fetch-with-token.ts'

/** A member of a network: it asks for decisions, signs requests and, while it runs, stays a member. */
export interface NetworkNode extends Decider, AsyncDisposable {
  readonly publicKey: string
  readonly network: string
  /** The certificate in use. */
  readonly certificate: JoinCertificate
  /** The keys of the authority, as the root of the genesis block signed them last. */
  readonly keys: NetworkIdentity & AuthorityKeys
  /** Clock of this machine minus that of the authority, as measured last. */
  readonly clockOffsetSeconds: number | undefined
  /**
   * Sends heartbeats and renews until stop(), the signal, or an error that a retry cannot fix. Never rejects: it
   * resolves with the reason.
   */
  run(options?: RunOptions): Promise<NodeEnd>
  /** A denial is an answer, too: act only when it is `allowed`. When it is `held`, a person must approve first. */
  ask(capability: string, options?: AskOptions & HeldOptions): Promise<Answer>
  /** Waits until a person has decided about a held request, and returns its state. It is no permission: ask again. */
  waitForApproval(approvalId: string, options?: WaitOptions): Promise<ApprovalStatus>
  /** A signed request (docs/protocol/request-proof.md). The audience is the origin of the URL. */
  readonly fetch: SigningFetch
  /** Another signing fetch, for libraries that take one. */
  fetchWith(options: FetchOptions): SigningFetch
  /**
   * An access token of a service, from the gateway that issues its tokens: any OAuth resource server verifies it. The
   * token is bound to a key of this process, unless `bearer` is set. Beta.
   */
  tokenFrom(issuer: string, request: TokenRequest): Promise<AccessToken>
  /** A `fetch` for one service with an access token that is renewed at half of its life. Beta. */
  fetchWithToken(resource: string, options: TokenFetchOptions): Fetch
  /** Lets a call under way end, takes the agent out of the registry and ends {@link run}. May be called again. */
  stop(): Promise<void>
}

const FINISH_MS = 5000

/**
 * Uses the stored certificate, or joins and stores the new one. It starts no background task: `ask` and `fetch` renew
 * first when renewal is due, and `run` keeps a node that only waits alive.
 */
export function joinNetwork(options: JoinOptions): Promise<NetworkNode> {
  return openNode(options)
}

/** As {@link joinNetwork}, with chance and pauses of the caller. */
export async function openNode(options: JoinOptions & NodeParts): Promise<NetworkNode> {
  const { store, random = Math.random, sleep: rest = sleep, platform } = options
  const clock = clockOf(options)
  const { genesis, history } = readIdentity(options)
  const verdict = await verifyGenesisBlock(genesis)
  if (!verdict.ok) throw new UsageError(`the genesis block is not valid: ${verdict.reason}`)
  const signer = await store.signer()
  const followed = await FollowedKeys.open(genesis, store, history)
  let node: RunningNode | undefined
  const client = nodeAreas({
    ...options,
    node: { signer, audience: () => followed.audience },
    onOffset: (seconds) => node?.noteOffset(seconds),
  })
  const expected = (): Expected => ({ keys: followed.keys, publicKey: signer.publicKey, now: clock() })
  const text = await store.read('certificate')
  const stored = await readStored(text, expected())
  const parts = { ...options, client, followed, expected, clock }
  const certificate =
    stored ?? (await rejoinStored(parts, text)) ?? (await enroll({ ...parts, pause: (ms) => rest(ms, undefined) }))
  const stop = new AbortController()
  const settings: NodeSettings = { emit: emitterOf(undefined), status: 'healthy', followsCrl: false, agent: undefined }
  const shared = { client, store, followed, settings, clock, signal: stop.signal }
  const lists = await NodeLists.open(shared)
  const renewBeforeHours = readRenewHours(options.renewBeforeHours)
  const loop = new NodeLoop({ ...shared, lists, random, renewBeforeHours, expected, certificate, evidence: platform })
  const { attestation } = options
  node = new RunningNode({
    ...shared,
    loop,
    signer,
    stop,
    rest,
    attestation,
    fetch: options.fetch,
    resumed: stored !== undefined,
  })
  return node
}

interface RunningParts {
  readonly loop: NodeLoop
  readonly client: NodeAreas
  readonly followed: FollowedKeys
  readonly settings: NodeSettings
  readonly signer: Signer
  readonly clock: () => Instant
  readonly stop: AbortController
  readonly rest: NonNullable<NodeParts['sleep']>
  readonly attestation: Attestation | string | undefined
  readonly fetch: JoinOptions['fetch']
  readonly resumed: boolean
}

class RunningNode implements NetworkNode {
  readonly #parts: RunningParts
  readonly #asking: Asking
  readonly #identity: FetchIdentity
  readonly publicKey: string
  readonly network: string
  readonly fetch: SigningFetch
  #offset: number | undefined
  #ended: Promise<NodeEnd> | undefined
  #renewing: Promise<void> | undefined
  #revoked: RevokedError | undefined
  #dpopKey: Promise<DpopKey> | undefined

  constructor(parts: RunningParts) {
    const { attestation, client, clock, fetch, followed, signer } = parts
    this.#parts = parts
    this.publicKey = signer.publicKey
    this.network = followed.keys.genesis.network_name
    const certificate = (): Promise<JoinCertificate> => this.#current()
    const given = attestation === undefined ? {} : { attestation }
    const { publicKey, network } = this
    const keys = (): AuthorityKeys => followed.keys
    this.#asking = { request: client.boundary.request, publicKey, network, certificate, keys, now: clock, attestation }
    const wits = new WitSource(client, clock)
    const wit = (held: JoinCertificate): Promise<string> => wits.current(held)
    this.#identity = { signer, certificate, clock, wit, ...given, ...(fetch === undefined ? {} : { fetch }) }
    this.fetch = this.fetchWith({})
  }

  get certificate(): JoinCertificate {
    return this.#parts.loop.certificate
  }

  get keys(): NetworkIdentity & AuthorityKeys {
    const { keys } = this.#parts.followed
    return { ...keys, ...(keys.history === undefined ? {} : { keyHistory: keys.history }) }
  }

  get clockOffsetSeconds(): number | undefined {
    return this.#offset
  }

  noteOffset(seconds: number): void {
    this.#offset = seconds
  }

  fetchWith(options: FetchOptions): SigningFetch {
    return createSigningFetch(this.#identity, options)
  }

  async ask(capability: string, options: AskOptions & HeldOptions = {}): Promise<Answer> {
    const once = (asked: AskOptions): Promise<Answer> => askAuthority(this.#asking, capability, asked)
    const wait: NetworkNode['waitForApproval'] = (approvalId, more) => this.waitForApproval(approvalId, more)
    try {
      return await askAndWait(once, wait, options)
    } catch (error) {
      throw this.#note(error)
    }
  }

  waitForApproval(approvalId: string, options: WaitOptions = {}): Promise<ApprovalStatus> {
    const { client, clock } = this.#parts
    return waitForApproval(client.approvals, approvalId, options, clock)
  }

  tokenFrom(issuer: string, request: TokenRequest): Promise<AccessToken> {
    return this.#tokenFrom(issuer, request, this.#parts.fetch ?? globalThis.fetch)
  }

  fetchWithToken(resource: string, { issuer, fetch, ...request }: TokenFetchOptions): Fetch {
    const used = fetch ?? this.#parts.fetch ?? globalThis.fetch
    const renew = (): Promise<AccessToken> => this.#tokenFrom(issuer, { ...request, resource }, used)
    return fetchWithToken({ resource, clock: this.#parts.clock, fetch: used, renew })
  }

  async #tokenFrom(issuer: string, request: TokenRequest, fetch: Fetch): Promise<AccessToken> {
    this.#dpopKey ??= createDpopKey()
    const dpopKey = request.dpopKey ?? (await this.#dpopKey)
    const { signer, clock } = this.#parts
    return requestToken(issuer, { ...request, dpopKey }, { signer, certificate: await this.#current(), clock, fetch })
  }

  run(options: RunOptions = {}): Promise<NodeEnd> {
    return (this.#ended ??= this.#run(options))
  }

  async stop(): Promise<void> {
    this.#parts.stop.abort(new Error('the node was stopped'))
    await this.#ended
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  /** The certificate for one call, renewed first when that is due. A node that was stopped asks with what it has. */
  async #current(): Promise<JoinCertificate> {
    if (this.#revoked !== undefined) throw this.#revoked
    const { loop, clock } = this.#parts
    if (this.#ended === undefined && loop.isRenewalDue) {
      this.#renewing ??= loop.renewNow().finally(() => (this.#renewing = undefined))
      // A certificate that is still valid serves on; one that has ended is refused by its authority.
      await this.#renewing.catch((error: unknown) => {
        if (error instanceof RevokedError || clock() >= instantOf(this.certificate.expires_at)) throw this.#note(error)
      })
    }
    return this.certificate
  }

  /** After a revocation no later call can succeed. */
  #note(error: unknown): unknown {
    if (error instanceof RevokedError) this.#revoked = error
    return error
  }

  async #run({ agent, status = 'healthy', followRevocations = false, signal, onEvent }: RunOptions): Promise<NodeEnd> {
    const { loop, resumed, rest, settings, stop } = this.#parts
    const emit = emitterOf(onEvent)
    Object.assign(settings, { emit, status, followsCrl: followRevocations, agent: toFacts(agent, this.network) })
    const end = (): void => stop.abort(new Error('the node was stopped'))
    signal?.addEventListener('abort', end, { once: true })
    if (signal?.aborted === true) end()
    let ended: NodeEnd = { reason: 'stopped' }
    emit({ type: 'started', certificate: this.certificate, resumed })
    try {
      while (!stop.signal.aborted) {
        await loop.step()
        // A pause ended by stop() is no failure.
        if (!stop.signal.aborted) await rest(loop.nextDelayMs(), stop.signal).catch(ignoreStop(stop.signal))
      }
    } catch (error) {
      this.#note(error)
      ended =
        error instanceof RevokedError ? { reason: 'revoked', error } : { reason: 'failed', error: toNodeError(error) }
    }
    signal?.removeEventListener('abort', end)
    await loop.finish(FINISH_MS)
    return ended
  }
}

function ignoreStop(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}

/** The facts of an agent: a descriptor has those of an earlier registration, which are signed again. */
function toFacts(agent: RunOptions['agent'], network_name: string): NodeSettings['agent'] {
  if (agent === undefined) return undefined
  if (!('signatures' in agent)) return { ...agent, network_name }
  if (agent.network_name !== network_name)
    throw new VerificationError('network_mismatch', 'agent-descriptor', 'it is of another network')
  const { agent_id, capabilities, endpoint, metadata } = agent
  return { agent_id, capabilities, endpoint, network_name, ...(metadata === undefined ? {} : { metadata }) }
}
