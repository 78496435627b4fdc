import { getCACertificates } from 'node:tls'
import { GATEWAY_CALLER_HEADER, signGatewayCaller, writeInstant } from '@chancery/protocol'
import {
  OutboundError,
  currentTraceParent,
  guardedLookup,
  isCallable,
  isRefusedLiteral,
  isTracing,
  traced,
} from '@chancery/service-kit'
import type { Clock } from '@chancery/service-kit'
import { Pool } from 'undici'
import type { NetworkPolicy, Policy } from '../policy/policy.ts'
import { type UpstreamCall, UpstreamExchange, type UpstreamResponse } from './upstream-exchange.ts'

const CONNECT_MS = 3000
const CONNECTIONS = 16

/**
 * Connects to the authorities of the policy, with one pool per origin (protocol/gateway 12.4): no redirects, no proxies
 * of the environment, no retries, TLS verified, and only to allowed addresses.
 */
export class AuthorityPools {
  readonly #clock: Pick<Clock, 'now'>
  readonly #pools = new Map<string, Pool>()
  /** The pools by network, so that the key is not built for every call. */
  #byNetwork = new WeakMap<NetworkPolicy, Pool>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  async send(network: NetworkPolicy, given: UpstreamCall): Promise<UpstreamResponse> {
    const pool = this.#byNetwork.get(network) ?? this.#findPool(network)
    const call = network.nameCallers ? await this.#withCaller(network, given) : given
    if (!isTracing) return new UpstreamExchange(withTrace(network, call, call.traceParent)).run(pool)
    const about = { 'http.request.method': call.method, 'server.address': network.authorityUrl?.host ?? '' }
    return traced('call authority', about, () =>
      new UpstreamExchange(withTrace(network, call, currentTraceParent())).run(pool),
    )
  }

  /** Signed with the key with which the gateway asks for decisions (protocol/gateway 12.7). */
  async #withCaller(network: NetworkPolicy, call: UpstreamCall): Promise<UpstreamCall> {
    const { caller: name, method, target } = call
    const { decisions, anchorTexts, primary } = network
    const audience = anchorTexts[primary.issuer]
    if (name === undefined || decisions === undefined || audience === undefined) return call
    const created = writeInstant(this.#clock.now())
    const value = await signGatewayCaller({ name, created, audience, method, target }, decisions.signer)
    return { ...call, headers: [...call.headers, GATEWAY_CALLER_HEADER, value] }
  }

  /** Closes pools that a new policy no longer names. Open calls finish. */
  update(policy: Policy): void {
    const named = new Set([...policy.networks.values()].map(poolKey))
    this.#byNetwork = new WeakMap()
    for (const [key, pool] of this.#pools) {
      if (named.has(key)) continue
      this.#pools.delete(key)
      pool.close().catch(() => undefined)
    }
  }

  async close(): Promise<void> {
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    this.#byNetwork = new WeakMap()
    await Promise.all(pools.map((pool) => pool.destroy()))
  }

  #findPool(network: NetworkPolicy): Pool {
    const { authorityUrl } = network
    if (authorityUrl === undefined) throw new OutboundError('unreachable')
    const pool = this.#poolOf(network, authorityUrl)
    this.#byNetwork.set(network, pool)
    return pool
  }

  #poolOf(network: NetworkPolicy, url: URL): Pool {
    const key = poolKey(network)
    const existing = this.#pools.get(key)
    if (existing !== undefined) return existing
    if (isRefusedLiteral(url)) throw new OutboundError('unreachable')
    const { extraRoot, allowHttp } = network.primary
    const pool = new Pool(url.origin, {
      connections: CONNECTIONS,
      pipelining: 1,
      allowH2: false,
      // The exchange limits the whole call.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: {
        timeout: CONNECT_MS,
        lookup: guardedLookup((address) => isCallable(address, allowHttp)),
        // Set explicitly, because an environment variable could disable the default.
        rejectUnauthorized: true,
        ...(extraRoot === undefined ? {} : { ca: [...getCACertificates('default'), extraRoot] }),
      },
    })
    this.#pools.set(key, pool)
    return pool
  }
}

/** Protocol/gateway 12.3 lists every header. A trace is one of them only where the operator allows it. */
function withTrace(network: NetworkPolicy, call: UpstreamCall, traceParent: string | undefined): UpstreamCall {
  if (!network.forwardTraceparent || traceParent === undefined) return call
  return { ...call, headers: [...call.headers, 'traceparent', traceParent] }
}

/** Returns everything a connection depends on: two networks share a pool only when all of it is equal. */
function poolKey({ authorityUrl, primary }: NetworkPolicy): string {
  return [authorityUrl?.origin, String(primary.allowHttp), primary.extraRoot ?? ''].join('\0')
}
