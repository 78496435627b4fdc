import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { parseEnv } from 'node:util'
import { isJsonObject, type JoinCertificate, type JsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  createMigratedDatabase,
  enroll,
  findTokenObstacle,
  newNodeCaller,
  startAuthorityProcess,
  testSeed,
  TestToken,
} from '@chancery/testkit'
import type { AuthorityProcess, Backend, NodeCaller, TestDatabase, TestResponse } from '@chancery/testkit'
import { checkPromises } from '../faults/fault-checks.ts'
import { type FaultInstances, openFaultInstances } from '../faults/fault-instances.ts'
import { FaultRecorder } from '../faults/fault-recorder.ts'
import { readGauge } from '../lib/loop-probe.ts'
import type { Random } from '../lib/random.ts'
import { withRows } from '../lib/rows.ts'
import { Alarms } from './alarms.ts'
import {
  ATTESTATION,
  authorityTarget,
  Findings,
  FOLLOWING,
  healthOf,
  readinessNames,
  requireJobsRecover,
  SCRAPES_AFTER,
  signingCalls,
  WITHOUT_STANDBY,
} from './tools.ts'
import type { OperateCase, SigningCall } from './tools.ts'

const LOST_SESSIONS = new URL('../lib/lost-sessions.ts', import.meta.url).href
const KEY_LABEL = 'na-known'
/** The probe runs every 10 s, and the library is started again after 5 s. */
const BACK_SECONDS = 30
/** Longer than a probe: a PIN that was refused is not tried again by itself. */
const ASKED_AGAIN_MS = 15_000

export const tokenLostOnSqlite: OperateCase = {
  name: 'token of the authority key lost and back, SQLite',
  run: (random) => withToken('sqlite', random),
}

export const tokenLostOnPostgres: OperateCase = {
  name: 'token of the authority key lost and back, PostgreSQL',
  run: (random) => withToken('postgres', random),
}

async function withToken(backend: Backend, random: Random): Promise<readonly string[]> {
  const obstacle = findTokenObstacle()
  if (obstacle !== undefined) throw new Error(obstacle)
  const token = new TestToken()
  token.import(KEY_LABEL, testSeed('na'))
  const database = await createMigratedDatabase(backend)
  const url = database.settings['DATABASE_URL'] ?? ''
  const settings = {
    ...database.settings,
    ...token.settings(KEY_LABEL),
    SOFTHSM2_CONF: token.configFile,
    NODE_OPTIONS: `--import ${LOST_SESSIONS}`,
    ...(url === '' ? { NA_HA_MODE: 'off', RATE_LIMIT_STORE: 'memory' } : {}),
  }
  const instances = await openFaultInstances({ databaseUrl: () => url, settings, instances: 1 })
  try {
    return await new TokenCase({ instances, token, database, random }).run()
  } finally {
    await instances.close()
    await database.drop()
    token.remove()
  }
}

interface Setup {
  readonly instances: FaultInstances
  readonly token: TestToken
  readonly database: TestDatabase
  readonly random: Random
}

class TokenCase {
  readonly #setup: Setup
  readonly #findings = new Findings()
  readonly #recorder: FaultRecorder
  #authority: AuthorityProcess
  #node: NodeCaller | undefined
  #certificate: JoinCertificate | undefined
  #attestation: JsonObject = {}
  /** Certificates whose revocation was acknowledged. */
  readonly #revoked: string[] = []

  constructor(setup: Setup) {
    this.#setup = setup
    const [first] = setup.instances.processes
    if (first === undefined) throw new Error('no instance is started')
    this.#authority = first
    this.#recorder = new FaultRecorder(setup.instances, setup.random)
  }

  async run(): Promise<readonly string[]> {
    try {
      return await this.#loseAndReturn()
    } finally {
      await this.#recorder.stop()
      await this.#authority.kill()
    }
  }

  async #loseAndReturn(): Promise<readonly string[]> {
    const { instances, database, token } = this.#setup
    const findings = this.#findings
    const alarms = await Alarms.open([authorityTarget('na1', () => this.#authority)])
    await this.#prepare()
    this.#recorder.start()
    await alarms.scrape(12, 150)
    alarms.expect('before', [])
    token.unplug()
    this.#loseSessions()
    await this.#whileLost('signing_key_unavailable')
    await alarms.scrape(20, 150)
    // ChanceryNotReady leaves it out, because the cause has a separate alert.
    alarms.expect('while the token is away', ['ChancerySigningKeyLost'], MAY_FIRE)
    token.plugIn()
    await this.#awaitSigning('the token is back')
    await requireJobsRecover([this.#authority], findings)
    await alarms.scrape(SCRAPES_AFTER, 60)
    alarms.expect('after the token is back', [], WITHOUT_STANDBY)
    await this.#sessionsLost()
    await this.#recorder.stop()
    findings.require(this.#recorder.unavailable > 0, 'no call of the load was refused while the token was away')
    findings.require(
      this.#recorder.unknown === 0,
      `${this.#recorder.unknown} calls have an unknown outcome (${this.#recorder.lastUnknown})`,
    )
    await this.#pinRefused()
    const now = { ...instances, processes: [this.#authority] }
    const promises = await withRows(database, (rows) => checkPromises(now, this.#recorder, rows))
    return [...findings.violations, ...promises, ...(await alarms.verdict())]
  }

  async #prepare(): Promise<void> {
    await this.#recorder.open()
    const node = await newNodeCaller(this.#authority.url, 'token', systemClock)
    this.#node = node
    this.#certificate = await enroll(this.#authority, node)
    await this.#signAll('before')
    const { json } = await this.#send('POST', '/admin/attestations', ATTESTATION)
    this.#attestation = isJsonObject(json) ? json : {}
  }

  #calls(): Promise<readonly SigningCall[]> {
    if (this.#node === undefined) throw new Error('no node')
    const { cert_id = '' } = this.#certificate ?? {}
    return signingCalls(this.#authority, { node: this.#node, cert_id, recorder: this.#recorder })
  }

  /** Signs one record of each kind, and revokes the certificate of another node. */
  async #signAll(when: string): Promise<void> {
    let areGood = true
    for (const [name, call] of await this.#calls()) {
      const answer = await call()
      const isGood = answer.status === 200 || answer.status === 201
      this.#findings.require(isGood, `${when}: ${name} was answered ${answer.status} ${answer.text.slice(0, 200)}`)
      areGood &&= isGood
      if (name === 'a renewal' && isGood) this.#certificate = answer.json as JoinCertificate
    }
    if (!areGood) return
    const { cert_id } = await enroll(this.#authority, await newNodeCaller(this.#authority.url, 'revoked', systemClock))
    const revoked = await this.#send('POST', '/admin/revoke', { cert_id })
    this.#findings.require(revoked.status === 200, `${when}: a revocation was answered ${revoked.status}`)
    this.#revoked.push(cert_id)
  }

  async #whileLost(reason: string): Promise<void> {
    const [findings, authority] = [this.#findings, this.#authority]
    const revoke = { cert_id: this.#certificate?.cert_id ?? '' }
    const calls = [
      ...(await this.#calls()),
      ['a revocation', () => this.#send('POST', '/admin/revoke', revoke)] as const,
    ]
    // The first call finds the loss.
    for (const [name, call] of calls) {
      const { status, text } = await call()
      const isRefused = status === 503 && text.includes('"code":"signing_unavailable"')
      findings.require(isRefused, `${reason}: ${name} was answered ${status} ${text.slice(0, 200)}`)
    }
    await findings.until(`/readyz says ${reason}`, 10, () => readinessNames(authority, 'reasons', reason))
    const ready = await authority.request('GET', '/readyz')
    findings.require(ready.status === 503, `${reason}: /readyz was answered ${ready.status}`)
    findings.require((await this.#metric()) === 1, `${reason}: the metric is not 1`)
    // One condition of /health for both reasons.
    await findings.until(`${reason}: /health says it`, 40, async () =>
      (await healthOf(authority)).reasons.includes('signing_key_unavailable'),
    )
    await findings.until(`${reason}: the finding signing-key is there`, 40, async () =>
      (await authority.as('standard')('GET', '/admin/findings')).text.includes('"check":"signing-key"'),
    )
    await this.#stillServed(reason)
  }

  /** What is signed already is served and verified. */
  async #stillServed(when: string): Promise<void> {
    const [findings, authority] = [this.#findings, this.#authority]
    const list = await authority.request('GET', '/crl')
    findings.require(list.status === 200, `${when}: GET /crl was answered ${list.status}`)
    for (const cert_id of this.#revoked)
      findings.require(
        list.text.includes(cert_id),
        `${when}: the list lacks ${cert_id}, whose revocation was acknowledged`,
      )
    const { network } = this.#setup.instances
    const issuer = {
      sovereign_id: network.name,
      public_keys: [network.authority.publicKey],
      allowed_roles: ['role:client'],
    }
    const recognition_policy = { local_sovereign_id: network.name, recognized_issuers: [issuer] }
    const body = { attestation: this.#attestation, recognition_policy }
    const verified = await authority.request('POST', '/attestations/verify', { body })
    const isVerified = verified.status === 200 && verified.text.includes('"reason":"accepted"')
    findings.require(
      isVerified,
      `${when}: a verification was answered ${verified.status} ${verified.text.slice(0, 200)}`,
    )
    for (const path of ['/genesis', '/policy', '/sovereign-revocation-feed']) {
      const { status } = await authority.request('GET', path)
      findings.require(status === 200, `${when}: GET ${path} was answered ${status}`)
    }
    const heartbeat = await this.#node?.heartbeat(this.#certificate?.cert_id ?? '')
    findings.require(heartbeat?.status === 200, `${when}: a heartbeat was answered ${heartbeat?.status}`)
  }

  async #awaitSigning(when: string): Promise<void> {
    const findings = this.#findings
    await findings.until(`${when}: the authority is ready`, BACK_SECONDS, async () => {
      const { status } = await this.#authority.request('GET', '/readyz')
      return status === 200 && (await this.#metric()) === 0
    })
    await this.#signAll(when)
    await this.#stillServed(when)
  }

  /** The token stays: no call is refused, because each gets a new session. */
  async #sessionsLost(): Promise<void> {
    this.#loseSessions()
    await pause(500)
    await this.#signAll('all sessions were lost')
    this.#findings.require((await this.#metric()) === 0, 'after lost sessions the metric is not 0')
  }

  /** The PIN is tried once, and by a restart (docs/operate/incidents.md#lost-signing-key). */
  async #pinRefused(): Promise<void> {
    const { token, instances } = this.#setup
    // The library reads the PIN when it starts again, which it does for a token that comes back.
    token.setPin('101010')
    token.unplug()
    this.#loseSessions()
    await this.#findings.until('the loss is found by the probe', BACK_SECONDS, async () => (await this.#metric()) === 1)
    token.plugIn()
    await this.#findings.until('/readyz says token_pin_refused', BACK_SECONDS, () =>
      readinessNames(this.#authority, 'reasons', 'token_pin_refused'),
    )
    await this.#whileLost('token_pin_refused')
    token.setPin()
    await pause(ASKED_AGAIN_MS)
    this.#findings.require((await this.#metric()) === 1, 'a PIN that was refused is tried again without a restart')
    await this.#authority.stop()
    const settings = { ...parseEnv(await readFile(instances.envFile, 'utf8')), PORT: new URL(this.#authority.url).port }
    this.#authority = await startAuthorityProcess({ network: instances.network, settings })
    await this.#awaitSigning('the PIN is right, and the authority is started again')
  }

  #loseSessions(): void {
    process.kill(this.#authority.pid, 'SIGUSR2')
  }

  #send(method: string, target: string, body: JsonObject): Promise<TestResponse> {
    return this.#authority.as('privileged')(method, target, body)
  }

  #metric(): Promise<number> {
    return readGauge(this.#authority.url, 'chancery_signing_unavailable')
  }
}

/** The feed is signed with the same key. */
const MAY_FIRE = ['ChanceryFeedPublishFailed', ...FOLLOWING, ...WITHOUT_STANDBY]
