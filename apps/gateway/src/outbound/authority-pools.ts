import { getCACertificates } from 'node:tls'
import { isTracing, traced } from '@chancery/service-kit'
import { Pool } from 'undici'
import type { NetworkPolicy, Policy } from '../policy/policy.ts'
import { guardedLookup, isRefusedLiteral } from './address-rules.ts'
import { OutboundFailure } from './call-url.ts'
import { UpstreamExchange } from './upstream-exchange.ts'
import type { UpstreamAnswer, UpstreamCall } from './upstream-exchange.ts'

const CONNECT_MS = 3000
const CONNECTIONS = 16

/**
 * Connections to the authorities of the policy, kept per origin (protocol/gateway 12.4): no redirects, no proxies of
 * the environment, no repetition, TLS verified, and only to addresses that were compared first.
 */
export class AuthorityPools {
  readonly #pools = new Map<string, Pool>()
  /** The same by the network as one policy says it: its key need not be spelt for every call. */
  #byNetwork = new WeakMap<NetworkPolicy, Pool>()

  async send(network: NetworkPolicy, call: UpstreamCall): Promise<UpstreamAnswer> {
    const pool = this.#byNetwork.get(network) ?? this.#findPool(network)
    if (!isTracing) return new UpstreamExchange(call).run(pool)
    // Nothing of the trace is sent along: protocol/gateway 12.3 lists every header. The request id joins the two.
    const about = { 'http.request.method': call.method, 'server.address': network.authorityUrl?.host ?? '' }
    return traced('call authority', about, () => new UpstreamExchange(call).run(pool))
  }

  /** Lets go of what a new policy no longer names; calls under way end as they began. */
  follow(policy: Policy): void {
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
    if (authorityUrl === undefined) throw new OutboundFailure('unreachable')
    const pool = this.#poolOf(network, authorityUrl)
    this.#byNetwork.set(network, pool)
    return pool
  }

  #poolOf(network: NetworkPolicy, url: URL): Pool {
    const key = poolKey(network)
    const held = this.#pools.get(key)
    if (held !== undefined) return held
    if (isRefusedLiteral(url)) throw new OutboundFailure('unreachable')
    const { extraRoot, allowHttp } = network.primary
    const pool = new Pool(url.origin, {
      connections: CONNECTIONS,
      pipelining: 1,
      allowH2: false,
      // Bounded as a whole by the exchange; two clocks would only disagree.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: {
        timeout: CONNECT_MS,
        lookup: guardedLookup(allowHttp),
        // Said although it is the default: a variable of the environment could turn it off.
        rejectUnauthorized: true,
        ...(extraRoot === undefined ? {} : { ca: [...getCACertificates('default'), extraRoot] }),
      },
    })
    this.#pools.set(key, pool)
    return pool
  }
}

/** Everything a connection depends on: two networks share one only when all of it is the same. */
function poolKey({ authorityUrl, primary }: NetworkPolicy): string {
  return [authorityUrl?.origin, String(primary.allowHttp), primary.extraRoot ?? ''].join('\0')
}
