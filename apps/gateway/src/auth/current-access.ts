import type { Clock, Log } from '@chancery/service-kit'
import type { Configuration } from '../policy/load-configuration.ts'
import type { ClientPolicy } from '../policy/policy.ts'
import { type Access, CredentialIndex } from './access.ts'
import { KeySet } from './key-set.ts'
import { OidcAdapter } from './oidc.ts'

/** What has its keys at an address. */
interface KeySource {
  readonly keySetUrl: URL | undefined
}

export interface AccessTools {
  readonly clock: Clock
  readonly log: Log
}

/** Stores the current callers. A reload replaces all of them; a removed client is refused on its next request. */
export class CurrentAccess {
  readonly #tools: AccessTools
  #access: Access
  #configuration: Configuration | undefined
  /** By address and roots. */
  #keySets: ReadonlyMap<string, KeySet> = new Map()

  private constructor(access: Access, tools: AccessTools) {
    this.#access = access
    this.#tools = tools
  }

  static ofConfiguration(configuration: Configuration, tools: AccessTools): CurrentAccess {
    const opened = new CurrentAccess(NO_ACCESS, tools)
    opened.replace(configuration)
    return opened
  }

  /** Allows one caller with one token. The caller sends all other inputs (protocol/gateway 3.8). */
  static ofDevelopment(tokenDigest: string, tools: AccessTools): CurrentAccess {
    const client = { ...DEVELOPER, tokenDigests: [tokenDigest] }
    return new CurrentAccess({ ...accessOf([client]), isDevelopment: true }, tools)
  }

  get current(): Access {
    return this.#access
  }

  get configuration(): Configuration | undefined {
    return this.#configuration
  }

  replace(configuration: Configuration): void {
    this.#configuration = configuration
    const { oidc, policy } = configuration
    const userIssuers = policy.oauth?.userIssuers ?? []
    const setOf = this.#followKeySets(configuration, [oidc, ...userIssuers])
    const adapter = oidc === undefined ? undefined : new OidcAdapter(oidc, setOf(oidc), this.#tools.clock)
    const userKeys = new Map(
      userIssuers.flatMap((issuer) => {
        const set = setOf(issuer)
        return set === undefined ? [] : [[issuer.issuer, set] as const]
      }),
    )
    this.#access = { ...accessOf(policy.clients), oidc: adapter, userKeys }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#keySets.values()].map((set) => set.close()))
  }

  /**
   * Reuses key sets that are still configured. Fetching one again would refuse its callers until the fetch ends.
   */
  #followKeySets({ extraRoots }: Configuration, sources: readonly (KeySource | undefined)[]) {
    const before = this.#keySets
    const next = new Map<string, KeySet>()
    const nameOf = ({ href }: URL): string => JSON.stringify([href, ...extraRoots])
    for (const url of sources.map((source) => source?.keySetUrl)) {
      if (url === undefined || next.has(nameOf(url))) continue
      next.set(nameOf(url), before.get(nameOf(url)) ?? new KeySet({ url, extraRoots, ...this.#tools }))
    }
    for (const [name, set] of before) if (!next.has(name)) void set.close()
    this.#keySets = next
    return ({ keySetUrl }: KeySource): KeySet | undefined => keySetUrl && next.get(nameOf(keySetUrl))
  }
}

function accessOf(clients: readonly ClientPolicy[]): Access {
  return {
    credentials: new CredentialIndex(clients),
    clients: new Map(clients.map((client) => [client.id, client])),
    oidc: undefined,
    userKeys: new Map(),
    isDevelopment: false,
  }
}

const NO_ACCESS: Access = accessOf([])

const DEVELOPER: ClientPolicy = {
  id: 'development',
  tokenDigests: [],
  networks: [],
  requestsPerMinute: 1_000_000,
  certificatesPerMinute: undefined,
  decisions: false,
  decisionsPerMinute: 1,
  proofAudiences: [],
  metrics: true,
  serviceGroups: [],
  authorityAdmin: false,
  isDemo: false,
  operations: undefined,
  introspection: [],
  notBefore: undefined,
  expiresAt: undefined,
  clientCertificates: undefined,
}
