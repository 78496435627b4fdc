import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { initializeState, readGatewaySettings } from '@chancery/gateway'
import { type JsonObject, writeJson } from '@chancery/protocol'
import { requireValues, systemClock, systemIds } from '@chancery/service-kit'
import {
  createTestNetwork,
  fetchCrl,
  freePort,
  startAuthorityProcess,
  startGatewayProcess,
  testClient,
  testPolicy,
} from '@chancery/testkit'
import type { AuthorityProcess, GatewayProcess, TestDatabase, TestNetwork } from '@chancery/testkit'
import { type OwnServer, startOwnServer } from '../lib/private-postgres.ts'

export const WORKERS = 2
/** The shortest interval that a policy allows. */
export const REFRESH_SECONDS = 10

/** An authority on PostgreSQL and a gateway that follows its list, each with two workers. */
export interface WorkersSetup {
  readonly network: TestNetwork
  readonly database: TestDatabase
  readonly token: string
  authority: AuthorityProcess
  gateway: GatewayProcess
  /** Start again at the same ports, on the same database and files. */
  startAuthority(): Promise<void>
  startGateway(): Promise<void>
  close(): Promise<void>
}

export async function openSetup(): Promise<WorkersSetup> {
  const network = await createTestNetwork('WORKERS-NET')
  const server = await startOwnServer()
  const home = await mkdtemp(join(tmpdir(), 'chancery-workers-'))
  const database = await server.createDatabase()
  const settings = {
    ...database.settings,
    NA_WORKERS: String(WORKERS),
    RATE_LIMIT_STORE: 'database',
    NA_DRAIN_SECONDS: '0',
    NA_CLOCK_CHECK: 'off',
    // The campaign causes alarms.
    LOG_LEVEL: 'fatal',
    PORT: String(await freePort()),
  }
  const startAuthority = (): Promise<AuthorityProcess> => startAuthorityProcess({ network, settings })
  const authority = await startAuthority()
  const client = testClient('campaign', [network.name])
  const env = await writeGateway(home, { network, url: authority.url, client })
  const port = await freePort()
  const startGateway = async (): Promise<GatewayProcess> => {
    const started = await startGatewayProcess(env, port)
    if (started === undefined) throw new Error('the gateway does not start')
    return started
  }
  const setup: WorkersSetup = {
    network,
    database,
    token: client.token,
    authority,
    gateway: await startGateway(),
    async startAuthority() {
      setup.authority = await startAuthority()
    },
    async startGateway() {
      setup.gateway = await startGateway()
    },
    close: () => closeAll(setup, server, home),
  }
  return setup
}

async function writeGateway(
  home: string,
  parts: { readonly network: TestNetwork; readonly url: string; readonly client: ReturnType<typeof testClient> },
): Promise<Readonly<Record<string, string>>> {
  const { network, url, client } = parts
  const { keyId, publicKey } = network.authority
  const entry = {
    anchors: { [keyId]: publicKey },
    crl: (await fetchCrl(url, publicKey)) as unknown as JsonObject,
    minimum_crl_sequence: 0,
    crl_url: `${url}/crl`,
    allow_http: true,
    refresh_seconds: REFRESH_SECONDS,
  }
  const env = {
    GATEWAY_WORKERS: String(WORKERS),
    GATEWAY_POLICY_FILE: join(home, 'policy.json'),
    GATEWAY_STATE_FILE: join(home, 'gateway.state'),
    GATEWAY_AUTH_FAILURES_PER_MINUTE: '100000',
    GATEWAY_LOG_LEVEL: 'error',
  }
  await writeFile(env.GATEWAY_POLICY_FILE, writeJson(testPolicy({ [network.name]: entry }, [client])), { mode: 0o600 })
  await initializeState(requireValues(readGatewaySettings({ flags: {}, env })), { clock: systemClock, ids: systemIds })
  return env
}

async function closeAll({ authority, gateway, network }: WorkersSetup, server: OwnServer, home: string): Promise<void> {
  await authority.kill()
  await gateway.kill()
  await server.remove()
  await network.remove()
  await rm(home, { recursive: true, force: true })
}
