import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { HOUR, isJsonObject, type JsonObject, readJson, writePrivateKeyFile } from '@chancery/protocol'
import { MemoryNodeStore, type NetworkNode } from '@chancery/sdk'
import { openNode } from '@chancery/sdk/internal'
import { silentLog } from '@chancery/service-kit'
import {
  createInvite,
  createMigratedDatabase,
  FIRST_KEY,
  ManualClock,
  signSuccession,
  startTestAuthority,
  startTestGateway,
  testClient,
  testNetwork,
  testPolicy,
  testSeed,
  testSigner,
} from '@chancery/testkit'
import type { Backend, Succeeded, TestAuthority, TestGateway } from '@chancery/testkit'
import { runRotation } from '../../../apps/authority/src/commands/rotate-key.ts'
import { Alarms } from './alarms.ts'
import { Findings, instantIn, ONE_PROCESS, type OperateCase, passHours, shortenLongWaits } from './tools.ts'

const NETWORK = 'TEST-NET'
const NEXT = { keyId: 'na-2', seed: 'na-2' }
const DAYS = 30
/** The present key may sign for longer than the announcement lasts. */
const OVERLAP_DAYS = 45n
const VALIDITY_HOURS = 48
/** A list is signed for 24 h and again when 12 h remain. Jobs that let two of the hours of the case pass are allowed. */
const LEAST_REMAINING = 9n * HOUR
/** An instance says every 30 s that it has the next key, also when the clock of the case jumps. */
const REPORT_MS = 35_000
const FOLLOWED_SECONDS = 60

export const announcedKeyOnSqlite: OperateCase = {
  name: `next key announced for ${DAYS} days, SQLite`,
  run: (_random, log) => announceFor('sqlite', DAYS, log),
}

export const announcedKeyOnPostgres: OperateCase = {
  name: `next key announced for ${DAYS} days, PostgreSQL`,
  run: (_random, log) => announceFor('postgres', DAYS, log),
}

/** Authority, gateway and node run in this process on one clock that the case moves. */
async function announceFor(backend: Backend, days: number, log: (line: string) => void): Promise<readonly string[]> {
  const endQuick = shortenLongWaits()
  const folder = await mkdtemp(join(tmpdir(), 'chancery-announced-'))
  const clock = new ManualClock()
  const database = await createMigratedDatabase(backend)
  try {
    const na = await startTestAuthority({ clock, database })
    try {
      return await new AnnouncedKey({ na, clock, folder, days, log }).run()
    } finally {
      await na.stop()
    }
  } finally {
    await database.drop()
    await rm(folder, { recursive: true, force: true })
    endQuick()
  }
}

interface Setup {
  readonly na: TestAuthority
  readonly clock: ManualClock
  readonly folder: string
  readonly days: number
  readonly log: (line: string) => void
}

class AnnouncedKey {
  readonly #setup: Setup
  readonly #findings = new Findings()
  readonly #caller = testClient('caller', [NETWORK], { metrics: true })
  #gateway: TestGateway | undefined
  #node: NetworkNode | undefined
  #heartbeats = 0
  #renewals = 0
  #heard = 0
  #refreshes = ''

  constructor(setup: Setup) {
    this.#setup = setup
  }

  async run(): Promise<readonly string[]> {
    const { na, clock, days, log } = this.#setup
    const findings = this.#findings
    this.#gateway = await startTestGateway({ policy: await this.#policy(), state: 'new', clock })
    try {
      await this.#startNode()
      const alarms = await Alarms.open([{ job: 'chancery-gateway', instance: 'gw1', read: () => this.#metrics() }])
      await alarms.scrape(2, 20)
      const said = await this.#rotate(await this.#sign(), false)
      findings.require(said.includes(`Step 1 of 4: ${NEXT.keyId} is announced`), `the announcement said: ${said}`)
      await passHours(clock, days * 24, {
        settled: () => this.#settled(),
        look: async (hour) => {
          await this.#look(hour)
          await alarms.scrape(1, 0)
        },
      })
      log(JSON.stringify({ days, heartbeats: this.#heartbeats, renewals: this.#renewals }))
      alarms.expect(`after ${days} days`, [], ONE_PROCESS)
      // A certificate is renewed a day before its end, or up to two hours later.
      const least = Math.floor((days * 24) / VALIDITY_HOURS)
      findings.require(this.#renewals >= least, `the node renewed only ${this.#renewals} times in ${days} days`)
      await this.#switch()
      await alarms.scrape(70, 20)
      alarms.expect('after the switch', [], ONE_PROCESS)
      const health = await na.request('GET', '/readyz')
      findings.require(health.status === 200, `after the switch /readyz was answered ${health.status}`)
      return [...findings.violations, ...(await alarms.verdict())]
    } finally {
      await this.#node?.stop()
      await this.#gateway.stop()
    }
  }

  async #policy(): Promise<JsonObject> {
    const { na } = this.#setup
    const list = readJson((await na.request('GET', '/crl')).text) as never
    const by = { network: NETWORK, keyId: FIRST_KEY.keyId, signer: await testSigner(FIRST_KEY.keyId, FIRST_KEY.seed) }
    const followed = { root_public_key: na.genesis.root_public_key, crl_url: `${na.url}/crl` }
    const entry = testNetwork(by, list, { ...followed, allow_http: true, refresh_seconds: 3600 })
    return testPolicy({ [NETWORK]: entry }, [this.#caller])
  }

  async #startNode(): Promise<void> {
    const { na, clock } = this.#setup
    const node = await openNode({
      url: na.url,
      genesis: na.genesis,
      store: new MemoryNodeStore(),
      invite: await createInvite(na),
      validityHours: VALIDITY_HOURS,
      clock: () => clock.now(),
      sleep: (_ms, signal) => pause(50, undefined, signal === undefined ? {} : { signal }),
    })
    this.#node = node
    const found = (text: string): void => this.#findings.add(text)
    const end = node.run({
      onEvent: (event) => {
        if (event.type === 'heartbeat') this.#heartbeats += 1
        if (event.type === 'renewed') this.#renewals += 1
        if (event.type === 'failed') found(`${event.action} of the node failed: ${event.error.message}`)
        if (event.type === 'keys_refused') found(`the node does not follow: ${event.reason}`)
      },
    })
    void end.then((why) => {
      if (why.reason !== 'stopped') found(`the node stopped: ${why.error.message}`)
    })
  }

  /** The next key is next to the present one, and the root has signed it. */
  async #sign(): Promise<Required<Succeeded>> {
    const { na, folder, clock } = this.#setup
    const { keySource } = na.settings
    if (keySource.provider !== 'file') throw new Error('the key of a test authority is in a file')
    const file = join(dirname(keySource.path), `${NEXT.keyId}.key`)
    await writeFile(file, writePrivateKeyFile(testSeed(NEXT.seed)), { mode: 0o600 })
    return signSuccession(folder, { genesis: na.genesis, key: FIRST_KEY }, NEXT, clock.now(), OVERLAP_DAYS)
  }

  /** One run of `chancery authority rotate-key`, answered with yes or no. Returns what it prints. */
  async #rotate(signed: Required<Succeeded> | undefined, answer: boolean): Promise<string> {
    const { na, clock } = this.#setup
    const lines: string[] = []
    const files = signed?.settings ?? {}
    const next = {
      keyId: NEXT.keyId,
      genesisFile: files['GENESIS_FILE'] ?? '',
      historyFile: files['NA_KEY_HISTORY_FILE'] ?? '',
    }
    await runRotation(na.settings, signed === undefined ? {} : { next }, {
      parts: { log: silentLog, clock },
      print: (line) => lines.push(line),
      confirm: () => Promise.resolve(answer),
    })
    return lines.join('\n')
  }

  /** Whether gateway and node called the authority in this hour. */
  async #settled(): Promise<boolean> {
    const name = `gateway_crl_refresh_total\\{network="${NETWORK}",issuer="${FIRST_KEY.keyId}"`
    const rows = ((await this.#metrics()).match(new RegExp(`^${name}.*$`, 'gm')) ?? []).join('\n')
    if (rows === this.#refreshes || this.#heartbeats === this.#heard) return false
    this.#refreshes = rows
    this.#heard = this.#heartbeats
    return true
  }

  async #look(hour: number): Promise<void> {
    const [findings, when] = [this.#findings, `hour ${hour}`]
    const { na, clock } = this.#setup
    const ready = await this.#get('/ready')
    findings.require(ready.status === 200, `${when}: /ready was answered ${ready.status} ${ready.text}`)
    const certificate = await this.#verdict()
    findings.require(certificate.isTrusted, `${when}: the certificate of the node is refused: ${certificate.text}`)
    const list = await na.request('GET', `/crl/keys/${NEXT.keyId}`)
    const end = isJsonObject(list.json) ? instantIn(list.json, 'next_update') : undefined
    const isFresh = end !== undefined && end - clock.now() > LEAST_REMAINING
    findings.require(isFresh, `${when}: the list of the announced key was answered ${list.status}, ends ${end}`)
    // The gateway follows with the refresh after the announcement.
    if (hour > 2) findings.require(await this.#has(NEXT.keyId), `${when}: the gateway has no list of ${NEXT.keyId}`)
  }

  async #switch(): Promise<void> {
    const findings = this.#findings
    await pause(REPORT_MS)
    const failed: string[] = []
    let isOver = false
    const calls = this.#load(failed, () => isOver)
    await pause(500)
    const said = await this.#rotate(undefined, true)
    findings.require(said.includes('1 of 1 have the key'), `the instance does not have the key: ${said}`)
    findings.require(said.includes('nodes      1 of 1'), `the node does not follow: ${said}`)
    findings.require(said.includes(`${NEXT.keyId} has taken over from ${FIRST_KEY.keyId}`), `no switch: ${said}`)
    await findings.until('the gateway has the new key as the primary one', FOLLOWED_SECONDS, async () =>
      (await this.#get('/v1/networks')).text.includes(`"revocation":{"issuer":"${NEXT.keyId}"`),
    )
    this.#setup.clock.advance(3600)
    await findings.until('the node has a certificate of the new key', FOLLOWED_SECONDS, async () => {
      this.#setup.clock.advance(60)
      await pause(500)
      return this.#node?.certificate.issued_by === NEXT.keyId
    })
    isOver = true
    const count = (await calls).reduce((sum, each) => sum + each, 0)
    for (const sentence of failed.slice(0, 5)) findings.add(`a request failed at the switch: ${sentence}`)
    findings.require(failed.length <= 5, `${failed.length} requests failed at the switch`)
    findings.require(count > 50, `only ${count} requests were made at the switch`)
    const after = await this.#verdict()
    findings.require(after.isTrusted, `a certificate of the new key is refused: ${after.text}`)
  }

  /** Readers, an operator and callers of the gateway, one call after the other. Returns how many calls each made. */
  #load(failed: string[], isOver: () => boolean): Promise<readonly number[]> {
    const { na } = this.#setup
    const attestation = { subject_id: 'clerk', roles: ['role:client'] }
    const repeat = async (name: string, call: () => Promise<{ status: number; text: string }>): Promise<number> => {
      for (let made = 0; ; made += 1) {
        if (isOver()) return made
        const { status, text } = await call()
        if (status >= 400) failed.push(`${name} was answered ${status} ${text.slice(0, 200)}`)
        await pause(20)
      }
    }
    return Promise.all([
      repeat('GET /crl', () => na.request('GET', '/crl')),
      repeat('POST /admin/attestations', () => na.as('privileged')('POST', '/admin/attestations', attestation)),
      repeat('GET /ready of the gateway', () => this.#get('/ready')),
      repeat('POST /verify of the gateway', async () => {
        const { isTrusted, text } = await this.#verdict()
        return { status: isTrusted ? 200 : 400, text }
      }),
    ])
  }

  async #verdict(): Promise<{ readonly isTrusted: boolean; readonly text: string }> {
    const body = { certificate: this.#node?.certificate }
    const {
      status,
      text,
      body: said,
    } = await this.#open().request('POST', '/verify', { token: this.#caller.token, body })
    return { isTrusted: status === 200 && said['trusted'] === true, text }
  }

  /** Whether the gateway has a usable list of this issuer next to the primary one. */
  async #has(issuer: string): Promise<boolean> {
    const { body } = await this.#open().request('GET', '/v1/networks', { token: this.#caller.token })
    const [network] = body['networks'] as readonly { readonly additional_issuers: readonly JsonObject[] }[]
    return network?.additional_issuers.some((each) => each['issuer'] === issuer && each['ready'] === true) ?? false
  }

  async #metrics(): Promise<string> {
    const { status, text } = await this.#get('/metrics')
    if (status !== 200) throw new Error(`/metrics of the gateway was answered ${status}`)
    return text
  }

  #get(path: string): Promise<{ readonly status: number; readonly text: string }> {
    return this.#open().request('GET', path, { token: this.#caller.token })
  }

  #open(): TestGateway {
    if (this.#gateway === undefined) throw new Error('the gateway is not started')
    return this.#gateway
  }
}
