import type { Clock, Log } from '@chancery/service-kit'
import type { Configuration } from '../policy/load-configuration.ts'
import type { ClientPolicy } from '../policy/policy.ts'
import { type Access, CredentialIndex } from './access.ts'
import { KeySet } from './key-set.ts'
import { OidcAdapter } from './oidc.ts'

export interface AccessTools {
  readonly clock: Clock
  readonly log: Log
}

/** Stores the current callers. A reload replaces all of them; a removed client is refused on its next request. */
export class CurrentAccess {
  readonly #tools: AccessTools
  #access: Access
  #configuration: Configuration | undefined
  #keySet: { readonly set: KeySet; readonly address: string } | undefined

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
    const keySet = this.#followKeySet(configuration)
    const { oidc, policy } = configuration
    const adapter = oidc === undefined ? undefined : new OidcAdapter(oidc, keySet, this.#tools.clock)
    this.#access = { ...accessOf(policy.clients), oidc: adapter }
  }

  async close(): Promise<void> {
    await this.#keySet?.set.close()
  }

  /**
   * Reuses a key set that is still configured. Fetching it again would refuse all OIDC callers until the fetch ends.
   */
  #followKeySet({ oidc, extraRoots }: Configuration): KeySet | undefined {
    const url = oidc?.keySetUrl
    const address = JSON.stringify([url?.href, ...extraRoots])
    if (this.#keySet !== undefined && this.#keySet.address === address) return this.#keySet.set
    void this.#keySet?.set.close()
    this.#keySet = url === undefined ? undefined : { address, set: new KeySet({ url, extraRoots, ...this.#tools }) }
    return this.#keySet?.set
  }
}

function accessOf(clients: readonly ClientPolicy[]): Access {
  return {
    credentials: new CredentialIndex(clients),
    clients: new Map(clients.map((client) => [client.id, client])),
    oidc: undefined,
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
