import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { commands } from '@chancery/gateway'
import { type JoinCertificate, type JsonObject, readJson } from '@chancery/protocol'
import {
  createMigratedDatabase,
  enroll,
  ManualClock,
  newNodeCaller,
  startFaultProxy,
  startTestAuthority,
  startTestGateway,
  testClient,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { Backend, FaultProxy, TestAuthority, TestGateway } from '@chancery/testkit'
import { toEnv } from '../faults/fault-instances.ts'
import { Alarms } from './alarms.ts'
import { Findings, ONE_PROCESS, type OperateCase, passHours, shortenLongWaits } from './tools.ts'

const HOME = 'HOME-NET'
const PARTNER = 'PARTNER-NET'
/** One hour longer than a list lasts. */
const SILENT_HOURS = 25
const BACK_SECONDS = 60
const HOURLY = { allow_http: true, refresh_seconds: 3600 }

export const partnerSilentOnSqlite: OperateCase = {
  name: `partner silent for ${SILENT_HOURS} h, SQLite`,
  run: () => withPartner('sqlite'),
}

export const partnerSilentOnPostgres: OperateCase = {
  name: `partner silent for ${SILENT_HOURS} h, PostgreSQL`,
  run: () => withPartner('postgres'),
}

/** Authorities and gateway run in this process on one clock that the case moves. The network to the partner is cut. */
async function withPartner(backend: Backend): Promise<readonly string[]> {
  const endQuick = shortenLongWaits()
  const clock = new ManualClock()
  const opened: (() => Promise<void>)[] = []
  const open = async (network: string): Promise<TestAuthority> => {
    const database = await createMigratedDatabase(backend)
    opened.push(() => database.drop())
    const na = await startTestAuthority({ network, clock, database })
    opened.push(() => na.stop())
    return na
  }
  try {
    const [home, partner] = [await open(HOME), await open(PARTNER)]
    const link = await startFaultProxy({ host: '127.0.0.1', port: Number(new URL(partner.url).port) })
    opened.push(() => link.close())
    return await new SilentPartner({ clock, home, partner, link }).run()
  } finally {
    for (const close of opened.toReversed()) await close()
    endQuick()
  }
}

interface Setup {
  readonly clock: ManualClock
  readonly home: TestAuthority
  readonly partner: TestAuthority
  readonly link: FaultProxy
}

class SilentPartner {
  readonly #setup: Setup
  readonly #findings = new Findings()
  readonly #caller = testClient('caller', [HOME, PARTNER], { metrics: true })
  #gateway: TestGateway | undefined
  #refreshes = ''

  constructor(setup: Setup) {
    this.#setup = setup
  }

  async run(): Promise<readonly string[]> {
    const { clock, home, partner, link } = this.#setup
    const findings = this.#findings
    this.#gateway = await startTestGateway({ policy: await this.#policy(), state: 'new', clock })
    try {
      const alarms = await Alarms.open([{ job: 'chancery-gateway', instance: 'gw1', read: () => this.#metrics() }])
      await alarms.scrape(4, 20)
      await this.#expect('before', true)
      alarms.expect('before', [], ONE_PROCESS)
      link.isolate(true)
      await passHours(clock, SILENT_HOURS, {
        settled: () => this.#refreshedHome(),
        look: async (hour) => {
          const { status, text } = await this.#get('/ready')
          findings.require(status === 200, `hour ${hour} of the silence: /ready was answered ${status} ${text}`)
          const { trusted } = await this.#verdict(home)
          findings.require(trusted, `hour ${hour} of the silence: a certificate of ${HOME} is refused`)
        },
      })
      await this.#expect(`after ${SILENT_HOURS} h of silence`, false)
      await alarms.scrape(40, 20)
      const rules = ['GatewayCrlRefreshFailing', ...ONE_PROCESS]
      alarms.expect(`after ${SILENT_HOURS} h of silence`, ['GatewayCrlEnding'], rules)
      link.isolate(false)
      await findings.until(
        'the partner is trusted again',
        BACK_SECONDS,
        async () => (await this.#verdict(partner)).trusted,
      )
      await this.#expect('when the partner is back', true)
      await alarms.scrape(70, 20)
      alarms.expect('when the partner is back', [], ONE_PROCESS)
      return [...findings.violations, ...(await alarms.verdict())]
    } finally {
      await this.#gateway.stop()
    }
  }

  async #policy(): Promise<JsonObject> {
    const { home, partner, link } = this.#setup
    const entry = async (na: TestAuthority, name: string, address: string): Promise<JsonObject> => {
      const key = na.genesis.network_authority.public_key
      const list = readJson((await na.request('GET', '/crl')).text) as never
      const by = { network: name, keyId: 'na-test', signer: { publicKey: key } } as never
      return testNetwork(by, list, { ...HOURLY, crl_url: `${address}/crl` })
    }
    const networks = {
      [PARTNER]: await entry(partner, PARTNER, `http://127.0.0.1:${link.port}`),
      [HOME]: await entry(home, HOME, home.url),
    }
    return { ...testPolicy(networks, [this.#caller]), home_network: HOME }
  }

  /** What the gateway says of both networks. */
  async #expect(when: string, isThere: boolean): Promise<void> {
    const findings = this.#findings
    const { home, partner } = this.#setup
    const ready = await this.#get('/ready')
    findings.require(ready.status === 200, `${when}: /ready was answered ${ready.status} ${ready.text}`)
    const warns = ready.text.includes('"list_stale"')
    findings.require(warns !== isThere, `${when}: /ready says ${ready.text}`)
    const [own, theirs] = [await this.#verdict(home), await this.#verdict(partner)]
    findings.require(own.trusted, `${when}: a certificate of ${HOME} is refused: ${own.text}`)
    // docs/protocol/gateway.md 8.1.
    const isRight = isThere ? theirs.trusted : !theirs.trusted && theirs.text.includes('"causes":["crl_stale"]')
    findings.require(isRight, `${when}: the verdict about a certificate of ${PARTNER} is ${theirs.text}`)
    const metrics = await this.#metrics()
    const rows = [`{network="${HOME}"} 1`, `{network="${PARTNER}"} ${isThere ? 1 : 0}`]
    for (const row of rows)
      findings.require(metrics.includes(`gateway_network_ready${row}\n`), `${when}: no gateway_network_ready${row}`)
    const doctor = await this.#doctor()
    const isNamed = doctor.some(({ status, found }) => status === 'bad' && found.includes(PARTNER))
    findings.require(isNamed !== isThere, `${when}: the check lists of doctor says ${JSON.stringify(doctor)}`)
    const isHomeBlamed = doctor.some(({ status, found }) => status !== 'good' && found.includes(HOME))
    findings.require(!isHomeBlamed, `${when}: doctor blames ${HOME}: ${JSON.stringify(doctor)}`)
  }

  async #doctor(): Promise<readonly { readonly status: string; readonly found: string }[]> {
    const { home: folder, url } = this.#open()
    const file = join(folder, 'doctor.env')
    const settings = {
      GATEWAY_ADDR: new URL(url).host,
      GATEWAY_POLICY_FILE: join(folder, 'policy.json'),
      GATEWAY_STATE_FILE: join(folder, 'gateway.state'),
    }
    await writeFile(file, toEnv(settings), { mode: 0o600 })
    const findings = await commands.diagnose(file, { offline: true, clock: this.#setup.clock })
    return findings.filter(({ check }) => check === 'lists').map(({ status, found }) => ({ status, found }))
  }

  /** Whether the gateway asked the home authority again since the last hour. */
  async #refreshedHome(): Promise<boolean> {
    const rows = (await this.#metrics()).match(new RegExp(`^gateway_crl_refresh_total\\{network="${HOME}".*$`, 'gm'))
    const now = (rows ?? []).join('\n')
    if (now === this.#refreshes) return false
    this.#refreshes = now
    return true
  }

  async #verdict(na: TestAuthority): Promise<{ readonly trusted: boolean; readonly text: string }> {
    const certificate = await this.#certificateOf(na)
    const answer = await this.#open().request('POST', '/verify', { token: this.#caller.token, body: { certificate } })
    return { trusted: answer.status === 200 && answer.body['trusted'] === true, text: answer.text }
  }

  /** A new one each time: a certificate must not end during the case. */
  async #certificateOf(na: TestAuthority): Promise<JoinCertificate> {
    return enroll(na, await newNodeCaller(na.url, 'partner', this.#setup.clock))
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
