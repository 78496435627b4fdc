import { randomUUID } from 'node:crypto'
import type { GenesisBlock, Instant, RevocationList } from '@chancery/protocol'
import { type Client, type InviteRequest, createClient } from '@chancery/sdk'
import { testClient, testPolicy } from '../gateway-records.ts'
import { startTestAuthority } from '../start-authority.ts'
import { startTestGateway } from '../start-gateway.ts'

export interface TestNetworkOptions {
  /** Name of the network; TEST-NET when not given. */
  readonly name?: string
  /** Settings of the authority, by their names in docs/operate/configure.md. */
  readonly settings?: Readonly<Record<string, string>>
  /** Time of the authority and of the gateway, such as a ManualClock; the system clock when not given. */
  readonly clock?: { now(): Instant; monotonicMs(): number }
}

export interface NetworkGateway {
  readonly url: string
  /** Bearer token of a client that may use the network. */
  readonly token: string
  stop(): Promise<void>
}

export interface RunningTestNetwork {
  /** Address of the authority. */
  readonly url: string
  readonly genesis: GenesisBlock
  /** Signs with a key of tier privileged. */
  readonly operator: Client
  /** Returns the token of a new invite. */
  invite(request?: InviteRequest): Promise<string>
  /** Starts a gateway that trusts this network under its name. */
  startGateway(): Promise<NetworkGateway>
  /** Stops its gateways, then the authority, and deletes the database and the keys. */
  stop(): Promise<void>
}

/**
 * Starts a real authority in this process: HTTP on a free port of 127.0.0.1, SQLite in a temporary folder, new keys,
 * high rate limits. No two networks share a key, also those of one name.
 */
export async function startTestNetwork(options: TestNetworkOptions = {}): Promise<RunningTestNetwork> {
  const { name = 'TEST-NET', settings, clock } = options
  const authority = await startTestAuthority({
    backend: 'sqlite',
    network: name,
    keys: randomUUID(),
    ...(settings === undefined ? {} : { settings }),
    ...(clock === undefined ? {} : { clock }),
  })
  const { url, genesis, signers } = authority
  const signer = signers['privileged']
  if (signer === undefined) throw new Error('the test authority has no privileged operator')
  const audience = genesis.network_authority.public_key
  const operator = createClient({
    url,
    operator: { signer, audience },
    ...(clock === undefined ? {} : { clock: () => clock.now() }),
  })
  const gateways = new Set<NetworkGateway>()
  return {
    url,
    genesis,
    operator,
    invite: async (request = {}) => (await operator.enrollment.invite(request)).token_id,
    async startGateway() {
      const gateway = await startGateway({ url, name, audience, clock, list: await operator.crl.current() })
      const stop = async (): Promise<void> => {
        if (gateways.delete(running)) await gateway.stop()
      }
      const running = { url: gateway.url, token: gateway.token, stop }
      gateways.add(running)
      return running
    },
    async stop() {
      await Promise.all([...gateways].map((gateway) => gateway.stop()))
      await authority.stop()
    },
  }
}

interface GatewayParts {
  readonly url: string
  readonly name: string
  readonly audience: string
  readonly list: RevocationList
  readonly clock: TestNetworkOptions['clock']
}

async function startGateway(parts: GatewayParts): Promise<NetworkGateway> {
  const { url, name, audience, list, clock } = parts
  const client = testClient('test', [name])
  const network = {
    anchors: { [list.issuer]: audience },
    crl: { ...list },
    minimum_crl_sequence: 0,
    authority_url: url,
    crl_url: `${url}/crl`,
    allow_http: true,
    refresh_seconds: 10,
  }
  const gateway = await startTestGateway({
    policy: testPolicy({ [name]: network }, [client]),
    ...(clock === undefined ? {} : { clock }),
  })
  return { url: gateway.url, token: client.token, stop: () => gateway.stop() }
}
