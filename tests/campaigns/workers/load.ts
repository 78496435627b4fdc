import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { initializeState, readGatewaySettings } from '@chancery/gateway'
import { isJsonObject, type JsonObject, writeJson } from '@chancery/protocol'
import { requireValues, systemClock, systemIds } from '@chancery/service-kit'
import {
  createTestNetwork,
  fetchCrl,
  freePort,
  nodeCaller,
  startAuthorityProcess,
  startGatewayProcess,
  testClient,
  testPolicy,
} from '@chancery/testkit'
import type {
  AuthorityProcess,
  GatewayProcess,
  NodeCaller,
  TestDatabase,
  TestNetwork,
  TestResponse,
} from '@chancery/testkit'
import { type OwnServer, startOwnServer } from '../lib/private-postgres.ts'
import type { Random } from '../lib/random.ts'
import { Acks, newSigner, text } from '../lib/rows.ts'

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

/** A worker of a gateway without its supervisor may answer by its last list for this long. */
const LEASE_MS = 2000
const LANES = 4
const AFTER_FAILURE_MS = 50
/** More than any deadline of both services. A request without an end is a lost connection. */
const NO_RESPONSE_MS = 60_000

interface Member {
  readonly cert_id: string
  readonly certificate: JsonObject
  readonly node: NodeCaller
}

/**
 * Callers of both services. A request without a response, and one with a 5xx, are part of a kill; every response is
 * recorded and must stay true.
 */
export class WorkersLoad {
  readonly acks = new Acks()
  readonly violations: string[] = []
  readonly #setup: WorkersSetup
  readonly #random: Random
  readonly #members: Member[] = []
  /** When the authority acknowledged the revocation, by certificate. */
  readonly #revokedAt = new Map<string, number>()
  /** When the gateway refused it first. */
  readonly #refusedAt = new Map<string, number>()
  #isRunning = false
  #running: Promise<unknown> = Promise.resolve()
  verified = 0

  constructor(setup: WorkersSetup, random: Random) {
    this.#setup = setup
    this.#random = random
  }

  start(): void {
    this.#isRunning = true
    this.#running = Promise.all(Array.from({ length: LANES }, () => this.#lane()))
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    await this.#running
  }

  get revocations(): readonly string[] {
    return [...this.#revokedAt.keys()]
  }

  /** True when both services do their work: a new certificate is issued, and trusted by the gateway. */
  async probeAuthority(): Promise<boolean> {
    return (await this.#join().catch(() => undefined)) !== undefined
  }

  async probeGateway(): Promise<boolean> {
    const member = this.#members.find(({ cert_id }) => !this.#revokedAt.has(cert_id))
    return member !== undefined && (await this.#verify(member).catch(() => undefined)) !== undefined
  }

  /** Returns those of the certificates that the gateway does not refuse. */
  async trusted(ids: readonly string[]): Promise<readonly string[]> {
    const left: string[] = []
    for (const member of this.#members.filter(({ cert_id }) => ids.includes(cert_id)))
      if ((await this.#verify(member).catch(() => undefined)) !== false) left.push(member.cert_id)
    return left
  }

  async #lane(): Promise<void> {
    while (this.#isRunning) {
      try {
        await within(NO_RESPONSE_MS, this.#step())
      } catch (error) {
        // A broken or refused connection has a code. The outcome of the request is unknown, so it is not recorded.
        if (!(error instanceof Error && 'code' in error)) this.violations.push(String(error))
        await pause(AFTER_FAILURE_MS)
      }
    }
  }

  async #step(): Promise<void> {
    const dice = this.#random.below(100)
    const member = this.#members[this.#random.below(Math.max(this.#members.length, 1))]
    if (member === undefined || dice < 20) await this.#join()
    else if (dice < 30) await this.#revoke(member)
    else if (dice < 50) await this.#heartbeat(member)
    else await this.#verify(member)
  }

  async #join(): Promise<Member | undefined> {
    const { authority } = this.#setup
    const invite = this.#take(await authority.as('standard')('POST', '/admin/invite', {}), 201)
    if (invite === undefined) return undefined
    this.acks.invites.add(text(invite, 'token_id'))
    const node = nodeCaller(authority.url, await newSigner(this.#random), () => systemClock.now())
    const response = await node.join(text(invite, 'token_id'))
    const certificate = this.#take(response, 201)
    if (certificate === undefined) return undefined
    const cert_id = text(certificate, 'cert_id')
    this.acks.certificates.set(cert_id, response.text)
    const member = { cert_id, certificate, node }
    this.#members.push(member)
    return member
  }

  async #revoke({ cert_id }: Member): Promise<void> {
    const reason = 'cessation_of_operation'
    const call = this.#setup.authority.as('privileged')
    const body = this.#take(await call('POST', '/admin/revoke', { cert_id, reason }), 200)
    if (body === undefined) return
    if (!this.#revokedAt.has(cert_id)) this.#revokedAt.set(cert_id, performance.now())
    this.acks.revoked(cert_id, reason)
    this.acks.lastSequence = Math.max(this.acks.lastSequence, Number(body['crl_sequence']))
  }

  /** Every worker of the authority refuses a certificate from the acknowledgement on. */
  async #heartbeat({ cert_id, node }: Member): Promise<void> {
    const isRevoked = this.#revokedAt.has(cert_id)
    const response = await node.heartbeat(cert_id)
    if (response.status === 200 && isRevoked)
      this.violations.push(`the authority accepts ${cert_id} after its revocation`)
    if (response.status !== 200) this.#take(response, 200, ['certificate_revoked'])
  }

  /** A response of one worker binds all: no later request may be answered by an older list. */
  async #verify({ cert_id, certificate }: Member): Promise<boolean | undefined> {
    const sentAt = performance.now()
    const refusedAt = this.#refusedAt.get(cert_id)
    const { gateway, token } = this.#setup
    const { status, body, text: shown } = await gateway.request('POST', '/verify', { token, body: { certificate } })
    if (status !== 200) {
      if (status < 500) this.violations.push(`the gateway answers ${status} ${shown.slice(0, 200)}`)
      return undefined
    }
    this.verified += 1
    if (body['trusted'] === false) {
      if (refusedAt === undefined) this.#refusedAt.set(cert_id, performance.now())
      return false
    }
    if (refusedAt !== undefined && sentAt > refusedAt + LEASE_MS)
      this.violations.push(`the gateway trusts ${cert_id} again ${Math.round(sentAt - refusedAt)} ms after a refusal`)
    return true
  }

  /** Returns the body if it has this status. Notes every response that no kill explains. */
  #take(response: TestResponse, status: number, allowed: readonly string[] = []): JsonObject | undefined {
    if (response.status === status && isJsonObject(response.json)) return response.json
    const error = isJsonObject(response.json) ? response.json['error'] : undefined
    const code = isJsonObject(error) ? text(error, 'code') : ''
    if (response.status < 500 && !allowed.includes(code))
      this.violations.push(`the authority answers ${response.status} ${response.text.slice(0, 200)}`)
    return undefined
  }
}

async function within(ms: number, step: Promise<void>): Promise<void> {
  const timer = new AbortController()
  const late = pause(ms, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`no response after ${ms} ms`)
  })
  try {
    await Promise.race([step, late])
  } finally {
    timer.abort()
    late.catch(() => undefined)
  }
}
