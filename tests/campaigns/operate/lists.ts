import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { initializeState, readGatewaySettings } from '@chancery/gateway'
import { HOUR, readJson, writeJson } from '@chancery/protocol'
import { requireValues, systemClock, systemIds } from '@chancery/service-kit'
import {
  createTestNetwork,
  freePort,
  startAuthorityProcess,
  startGatewayProcess,
  startTemporaryPostgres,
  testCertificate,
  testClient,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { AuthorityProcess, GatewayProcess, TestIssuer, TestNetwork, TemporaryPostgres } from '@chancery/testkit'
import pg from 'pg'
import { seedCertificates, seededCertificateId } from '../../tools/seed-certificates.ts'
import { toEnv } from '../faults/fault-instances.ts'
import { Alarms } from './alarms.ts'
import { authorityTarget, doctorOn, Findings, healthOf, type OperateCase, SCRAPES_AFTER } from './tools.ts'

const SEED = 'operate'
const BOUND = 1_048_576
const LARGER = 16 * BOUND
/** What an authority expects of its readers is so much more than the limit of this gateway. */
const TIMES = 64
/** About 154 bytes each: two thirds of the limit, and more than the limit. */
const HALF = 4500
const MORE = 4000
const PER_REQUEST = 1000
const UNREAD_SECONDS = 900
const REFRESH_SECONDS = 10
const READ_SECONDS = 40

/** A list grows past half of the limit of a gateway, and then past the limit. */
export const listOverBound: OperateCase = {
  name: 'revocation list over the bound of a gateway',
  async run() {
    const home = await mkdtemp(join(tmpdir(), 'chancery-lists-'))
    const network = await createTestNetwork('LIST-NET')
    const server = await startTemporaryPostgres()
    const setup = new ListSetup(home, network, server)
    try {
      await setup.startAuthority()
      await setup.writePolicy()
      await setup.startGateway(BOUND)
      return await setup.grow()
    } finally {
      await setup.stop()
      await server.remove()
      await network.remove()
      await rm(home, { recursive: true, force: true })
    }
  },
}

class ListSetup {
  readonly #home: string
  readonly #network: TestNetwork
  readonly #server: TemporaryPostgres
  readonly #by: TestIssuer
  readonly #caller: ReturnType<typeof testClient>
  readonly #findings = new Findings()
  readonly #envFile: string
  #authority: AuthorityProcess | undefined
  #gateway: GatewayProcess | undefined
  #port = 0
  #revoked = 0

  constructor(home: string, network: TestNetwork, server: TemporaryPostgres) {
    this.#home = home
    this.#network = network
    this.#server = server
    this.#envFile = join(home, 'authority.env')
    this.#by = { network: network.name, keyId: network.authority.keyId, signer: network.authority }
    this.#caller = testClient('caller', [network.name], { metrics: true })
  }

  /** On the same port each time, because the gateway has its address. */
  async startAuthority(): Promise<void> {
    this.#port ||= await freePort()
    await this.#authority?.stop()
    this.#authority = undefined
    const settings = {
      DATABASE_URL: this.#server.url,
      PORT: String(this.#port),
      LOG_LEVEL: 'fatal',
    }
    await writeFile(this.#envFile, toEnv({ ...this.#network.settings, ...settings }), { mode: 0o600 })
    this.#authority = await startAuthorityProcess({ network: this.#network, settings })
  }

  async writePolicy(): Promise<void> {
    const url = `http://127.0.0.1:${this.#port}/crl`
    const list = readJson((await this.#authority?.request('GET', '/crl'))?.text ?? '') as never
    const reached = { crl_url: url, allow_http: true, refresh_seconds: REFRESH_SECONDS }
    const policy = testPolicy({ [this.#network.name]: testNetwork(this.#by, list, reached) }, [this.#caller])
    await writeFile(join(this.#home, 'policy.json'), writeJson(policy), { mode: 0o600 })
    const settings = requireValues(readGatewaySettings({ flags: {}, env: this.#gatewayEnv(BOUND) }))
    await initializeState(settings, { clock: systemClock, ids: systemIds })
  }

  async startGateway(maxBytes: number): Promise<void> {
    await this.#gateway?.stop()
    this.#gateway = undefined
    this.#gateway = await startGatewayProcess(this.#gatewayEnv(maxBytes))
    if (this.#gateway === undefined) throw new Error('the gateway did not start')
  }

  async grow(): Promise<readonly string[]> {
    const findings = this.#findings
    const alarms = await Alarms.open([
      authorityTarget('na1', () => this.#authority),
      { job: 'chancery-gateway', instance: 'gw1', read: () => this.#gatewayMetrics() },
    ])
    await alarms.scrape(8, 100)
    alarms.expect('before', [])
    await this.#halfFull()
    await alarms.scrape(28, 150)
    const large = ['ChanceryCrlLarge', 'GatewayCrlLarge']
    alarms.expect('above half of the bound', large)
    await this.#overBound()
    await alarms.scrape(28, 150)
    const over = ['ChanceryCrlLarge', 'GatewayCrlUnread', 'GatewayNotReady']
    alarms.expect('over the bound', over, ['GatewayCrlLarge', 'GatewayCrlRefreshFailing'])
    // As docs/operate/monitoring.md describes: raise the limit of the gateways.
    await this.startGateway(LARGER)
    await findings.until('the gateway reads the list with a larger bound', READ_SECONDS, async () => {
      const { status } = (await this.#gateway?.request('GET', '/ready')) ?? {}
      return status === 200 && (await this.#verdict(this.#revoked - 1)) === false
    })
    await this.#resize('bytes / $1')
    await alarms.scrape(SCRAPES_AFTER, 60)
    alarms.expect('with a larger bound', [])
    findings.require((await this.#verdict(undefined)) === true, 'a valid certificate is refused with a larger bound')
    findings.require(
      (await doctorOn({ envFile: this.#envFile }, 'crl-size')) === 'good',
      'doctor still warns of the size',
    )
    return [...findings.violations, ...(await alarms.verdict())]
  }

  async stop(): Promise<void> {
    await this.#gateway?.stop()
    await this.#authority?.stop()
  }

  async #halfFull(): Promise<void> {
    const at = systemClock.now() - HOUR
    const facts = { count: HALF + MORE + 1, revoked: HALF, seed: SEED, network: this.#network.name, at }
    await seedCertificates({ database: this.#server.url, ...facts })
    // Seeded entries go into the first list after a start.
    await this.startAuthority()
    this.#revoked = HALF
    await this.#revoke(1)
    await this.#findings.until(
      'the gateway has the large list',
      READ_SECONDS,
      async () => (await this.#verdict(this.#revoked - 1)) === false,
    )
    await this.#resize('bytes * $1')
    await this.#healthAndDoctor('warn')
  }

  async #overBound(): Promise<void> {
    const findings = this.#findings
    while (this.#revoked < HALF + MORE) await this.#revoke(Math.min(PER_REQUEST, HALF + MORE - this.#revoked))
    await findings.until('/ready of the gateway says list_too_large', READ_SECONDS, async () =>
      ((await this.#gateway?.request('GET', '/ready'))?.text ?? '').includes('list_too_large'),
    )
    await findings.until(
      '/ready of the gateway says no',
      UNREAD_SECONDS + READ_SECONDS,
      async () => (await this.#gateway?.request('GET', '/ready'))?.status === 503,
    )
    // The certificate is revoked in the list that cannot be read. The gateway cannot distinguish it from any other.
    for (const index of [this.#revoked - 1, undefined])
      findings.require((await this.#verdict(index)) === false, 'a certificate is trusted although the list is not read')
    await this.#resize('bytes * $1')
    await this.#healthAndDoctor('bad')
  }

  /** Changes the stored size of the current list: a real one of this size takes hours to make. */
  async #resize(size: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.#server.url })
    await client.connect()
    const current = 'where sequence = (select max(sequence) from crl_versions)'
    await client.query(`update crl_versions set bytes = ${size} ${current}`, [TIMES])
    await client.end()
  }

  async #healthAndDoctor(doctor: string): Promise<void> {
    const authority = this.#authority
    const reasons = authority === undefined ? [] : (await healthOf(authority)).reasons
    this.#findings.require(reasons.includes('crl_large'), `/health says ${reasons.join(', ')}`)
    const said = await doctorOn({ envFile: this.#envFile }, 'crl-size')
    this.#findings.require(said === doctor, `doctor says ${said} of the size, not ${doctor}`)
  }

  async #revoke(count: number): Promise<void> {
    const cert_ids = Array.from({ length: count }, (_, n) => seededCertificateId(SEED, this.#revoked + n))
    const answer = await this.#authority?.as('privileged')('POST', '/admin/revoke', { cert_ids, only_this: true })
    this.#findings.require(
      answer?.status === 200,
      `a revocation answered ${answer?.status} ${answer?.text.slice(0, 200)}`,
    )
    this.#revoked += count
  }

  /** Returns whether the gateway trusts the seeded certificate of an index, or one that was never revoked. */
  async #verdict(index: number | undefined): Promise<unknown> {
    const id = index === undefined ? {} : { cert_id: seededCertificateId(SEED, index) }
    const certificate = await testCertificate(this.#by, systemClock.now(), id)
    const answer = await this.#gateway?.request('POST', '/verify', { token: this.#caller.token, body: { certificate } })
    return answer?.body['trusted']
  }

  async #gatewayMetrics(): Promise<string> {
    const answer = await this.#gateway?.request('GET', '/metrics', { token: this.#caller.token })
    if (answer?.status !== 200) throw new Error('/metrics of the gateway does not answer')
    return answer.text
  }

  #gatewayEnv(maxBytes: number): Readonly<Record<string, string>> {
    return {
      GATEWAY_POLICY_FILE: join(this.#home, 'policy.json'),
      GATEWAY_STATE_FILE: join(this.#home, 'gateway.state'),
      GATEWAY_MAX_LIST_BYTES: String(maxBytes),
      GATEWAY_LOG_LEVEL: 'error',
    }
  }
}
