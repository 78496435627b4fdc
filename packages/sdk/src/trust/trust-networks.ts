import { type JoinCertificate, type RevocationList, readJson, readRevocationList } from '@chancery/protocol'
import { UsageError } from '../errors.ts'
import { type ConnectionOptions, clockOf } from '../http/call.ts'
import { openKeyed } from '../http/keyed-connection.ts'
import type { NodeStore } from '../node/followed.ts'
import { retrySeconds } from '../node/schedule.ts'
import type { CertificateTrust, CertificateVerdict } from './certificate-verdict.ts'
import { FollowedParty } from './followed-party.ts'
import { type NetworkIdentity, readIdentity } from './identity.ts'
import { listSource } from './list-source.ts'
import { type Time, timeOf } from './signing-time.ts'

export interface TrustedNetwork extends ConnectionOptions, NetworkIdentity {
  /** One of them is enough; none: every role. */
  readonly roles?: readonly string[]
  /** Lists of an earlier run, to start while the authority is unreachable. */
  readonly store?: Pick<NodeStore, 'read' | 'write'>
}

/** For a health page of the service. */
export interface NetworkState {
  readonly name: string
  /** Undefined while it was never refreshed, as after a start without its authority. */
  readonly refreshedAt: Date | undefined
  readonly listExpiresAt: Date | undefined
  /** In a row since then. */
  readonly failures: number
  readonly error: unknown
}

export interface NetworksTrust extends CertificateTrust, AsyncDisposable {
  readonly networks: readonly NetworkState[]
  /** Refreshes all now. Rejects with the first failure, after all were tried. */
  refresh(): Promise<void>
  /** Ends the refreshes. Verification continues until the current lists expire. */
  close(): Promise<void>
}

export interface TrustOptions {
  /** Time between two refreshes, from 1 to 86400; 30 when not given. After a failure 5 s, then doubled up to 60 s. */
  readonly refreshSeconds?: number
  /** Called for every failed refresh. The current list stays in use until it expires. */
  readonly onError?: (error: unknown, network: string) => void
  readonly clock?: () => Time
}

/** Chance and pauses; tests replace them. */
export interface TrustParts {
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>
  /** From 0 up to 1, for the spread of refreshes. */
  readonly random?: () => number
}

const USUAL_SECONDS = 30
const LONGEST_SECONDS = 86_400

/**
 * Verifies certificates of these networks by their own keys and lists, without network calls, and refreshes both in the
 * background until `close()`. It does not keep a process running.
 */
export function trustNetworks(
  networks: readonly [TrustedNetwork, ...TrustedNetwork[]],
  options: TrustOptions = {},
): Promise<NetworksTrust> {
  return openTrust(networks, options)
}

/** As {@link trustNetworks}, with chance and pauses of the caller. */
export async function openTrust(
  networks: readonly TrustedNetwork[],
  options: TrustOptions & TrustParts,
): Promise<NetworksTrust> {
  const { refreshSeconds = USUAL_SECONDS } = options
  // A timer of more than 24.8 days ends at once, and the authority would be asked without a pause.
  if (!(refreshSeconds >= 1 && refreshSeconds <= LONGEST_SECONDS))
    throw new UsageError(`refreshSeconds must be from 1 to ${LONGEST_SECONDS}`)
  if (networks.length === 0) throw new UsageError('name at least one network')
  const followed = new Map<string, FollowedNetwork>()
  for (const network of networks) {
    const { network_name: name } = readIdentity(network).genesis
    if (followed.has(name)) throw new UsageError(`two networks have the name ${name}`)
    followed.set(name, new FollowedNetwork(name, network, options))
  }
  const all = [...followed.values()]
  try {
    await Promise.all(all.map((each) => each.open()))
  } catch (error) {
    await Promise.all(all.map((each) => each.close()))
    throw error
  }
  const close = async (): Promise<void> => void (await Promise.all(all.map((each) => each.close())))
  return {
    get networks() {
      return all.map(({ state }) => state)
    },
    evaluate: async (certificate, at) => {
      const network = followed.get(certificate.network_name)
      return network === undefined ? unknownNetwork(certificate) : network.evaluate(certificate, at)
    },
    refresh: async () => {
      const results = await Promise.allSettled(all.map((each) => each.refresh()))
      for (const result of results) if (result.status === 'rejected') throw result.reason
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function unknownNetwork({ network_name }: JoinCertificate): CertificateVerdict {
  const network = typeof network_name === 'string' ? network_name : undefined
  return { trusted: false, network, reasons: ['unknown_network'], cause: 'refuse' }
}

class FollowedNetwork {
  readonly #name: string
  readonly #network: TrustedNetwork
  readonly #options: TrustOptions & TrustParts
  readonly #now: () => bigint
  readonly #stop = new AbortController()
  #party: FollowedParty | undefined
  #running: Promise<void> | undefined
  #ended: Promise<void> | undefined
  #refreshedAt: bigint | undefined
  #failures = 0
  /** The list that was read last and is not stored yet. */
  #listText: string | undefined
  #error: unknown

  constructor(name: string, network: TrustedNetwork, options: TrustOptions & TrustParts) {
    this.#name = name
    this.#network = { ...network, ...(options.clock === undefined ? {} : { clock: options.clock }) }
    this.#options = options
    this.#now = clockOf(this.#network)
  }

  /** Begins with a stored list while the authority is unreachable. */
  async open(): Promise<void> {
    const { store } = this.#network
    const { genesis, history } = readIdentity(this.#network)
    const stored = await readStoredList(store)
    const party = await FollowedParty.open({
      client: listSource(openKeyed(this.#network), (text) => (this.#listText = text)),
      genesis,
      clock: this.#now,
      ...(history === undefined ? {} : { keyHistory: history }),
      ...(store === undefined ? {} : { store }),
      ...(stored === undefined ? {} : { lists: [stored] }),
    })
    this.#party = party
    if (!party.isBehind) this.#refreshedAt = this.#now()
    await this.#storeList()
    this.#ended = this.#run()
  }

  get state(): NetworkState {
    const [refreshed, expires] = [this.#refreshedAt, this.#party?.listExpiresAt]
    return {
      name: this.#name,
      refreshedAt: refreshed === undefined ? undefined : toDate(refreshed),
      listExpiresAt: expires === undefined ? undefined : toDate(expires),
      failures: this.#failures,
      error: this.#error,
    }
  }

  async evaluate(certificate: JoinCertificate, at: Time | undefined): Promise<CertificateVerdict> {
    if (this.#party === undefined) throw new UsageError('no list was read yet')
    const verdict = await this.#party.evaluate(certificate, at === undefined ? this.#now() : timeOf(at))
    const { roles = [] } = this.#network
    if (!verdict.trusted || roles.length === 0) return verdict
    if (roles.some((role) => verdict.certificate.roles.includes(role))) return verdict
    return { trusted: false, network: verdict.network, reasons: ['missing_role'], cause: 'refuse' }
  }

  /** Refreshes now, or waits for the refresh that is under way. */
  refresh(): Promise<void> {
    if (this.#stop.signal.aborted) return Promise.reject(new UsageError('the trust in networks is closed'))
    this.#running ??= this.#refresh().finally(() => (this.#running = undefined))
    return this.#running
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#ended
  }

  async #refresh(): Promise<void> {
    try {
      await this.#party?.refresh(this.#stop.signal)
      this.#refreshedAt = this.#now()
      this.#failures = 0
      this.#error = undefined
      await this.#storeList()
    } catch (error) {
      if (this.#stop.signal.aborted) throw error
      this.#failures += 1
      this.#error = error
      this.#options.onError?.(error, this.#name)
      throw error
    }
  }

  /** A start without the authority begins with it. After a change of a large list the stored one stays older. */
  async #storeList(): Promise<void> {
    const text = this.#listText
    this.#listText = undefined
    if (text !== undefined) await this.#network.store?.write('crl', text)
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    const { sleep = restUnreferenced } = this.#options
    while (!signal.aborted) {
      // Failures of a refresh are in the state, and onError gets them.
      await sleep(this.#pauseSeconds() * 1000, signal).catch(() => undefined)
      if (!signal.aborted) await this.refresh().catch(() => undefined)
    }
  }

  #pauseSeconds(): number {
    const { random = Math.random, refreshSeconds = USUAL_SECONDS } = this.#options
    if (this.#failures > 0) return retrySeconds(this.#failures, random())
    if (this.#refreshedAt === undefined) return 0
    // A tenth earlier or later, so that services that start together do not ask together.
    return refreshSeconds * (0.9 + 0.2 * random())
  }
}

/** A damaged copy is as good as none: the authority has the original. */
async function readStoredList(store: TrustedNetwork['store']): Promise<RevocationList | undefined> {
  const text = await store?.read('crl')
  if (text === undefined) return undefined
  try {
    return readRevocationList(readJson(text))
  } catch {
    return undefined
  }
}

function toDate(instant: bigint): Date {
  return new Date(Number(instant / 1000n))
}

/** The timer does not keep a process of Node.js running. Browsers have numbers as timers. */
function restUnreferenced(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    const { unref } = timer as { unref?: () => void }
    unref?.call(timer)
    signal.addEventListener('abort', end, { once: true })
  })
}
