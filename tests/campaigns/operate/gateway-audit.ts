import { createHash, randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { commands } from '@chancery/gateway'
import { DAY, HOUR, type Instant, isJsonObject, readJson, writeJson } from '@chancery/protocol'
import {
  ManualClock,
  startTestGateway,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { TestGateway, TestIssuer } from '@chancery/testkit'
import { toEnv } from '../faults/fault-instances.ts'
import { Alarms } from './alarms.ts'
import { Findings, instantIn, ONE_PROCESS, type OperateCase, shortenLongWaits } from './tools.ts'

const REQUESTS = 5_000_000
/** About 83,000 requests a day. */
const DAYS = 60
/** Of GATEWAY_AUDIT_RETENTION_DAYS, with its default. */
const RETENTION = 90n * DAY
/** Requests that write at the same time: they share commits, as those of a busy gateway do. */
const WAVE = 2048
const SAMPLES = 25
const SAMPLED_REQUESTS = 20
const SCRAPES = 50
/** Without a collector the oldest events leave above 60 % (docs/protocol/gateway.md 16). */
const MOST_USED = 0.65
const JOBS_SECONDS = 600

export const gatewayAudit: OperateCase = {
  name: `state of a gateway without a collector for ${REQUESTS.toLocaleString('en')} requests`,
  run: (_random, log) => fillState({ requests: REQUESTS, days: DAYS, settings: {}, log }),
}

interface FillOptions {
  readonly requests: number
  readonly days: number
  /** In addition to the defaults; none in the campaign. */
  readonly settings: Readonly<Record<string, string>>
  readonly log: (line: string) => void
}

/**
 * Real: the gateway with its settings, state file, writer thread and jobs, and a sample of requests over HTTP before,
 * during and after. The other requests begin at the audit of the gateway, with the intent and the completion that a
 * verification writes: over HTTP they would take days. The clock is moved, and long waits of jobs are shortened.
 */
async function fillState(options: FillOptions): Promise<readonly string[]> {
  const endQuick = shortenLongWaits()
  const clock = new ManualClock()
  const by = await testIssuer('agency')
  const caller = testClient('caller', ['agency'], { metrics: true })
  const lists = await serveLists(by, clock)
  const { port } = lists.address() as AddressInfo
  const reached = { crl_url: `http://127.0.0.1:${port}/crl`, allow_http: true, refresh_seconds: 3600 }
  const gateway = await startTestGateway({
    policy: testPolicy({ agency: testNetwork(by, await testList(by, clock.now(), { sequence: 1 }), reached) }, [
      caller,
    ]),
    settings: options.settings,
    state: 'new',
    clock,
  })
  try {
    return await new FillingState({ ...options, gateway, clock, by, token: caller.token }).run()
  } finally {
    await rm(gateway.home, { recursive: true, force: true })
    lists.close()
    endQuick()
  }
}

/** A new list for each reader, as an authority has one for each day. */
async function serveLists(by: TestIssuer, clock: ManualClock): Promise<Server> {
  let sequence = 1
  const server = createServer((_request, response) => {
    sequence += 1
    void testList(by, clock.now(), { sequence }).then((list) => response.end(writeJson({ ...list })))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return server
}

interface Setup extends FillOptions {
  readonly gateway: TestGateway
  readonly clock: ManualClock
  readonly by: TestIssuer
  readonly token: string
}

class FillingState {
  readonly #setup: Setup
  readonly #findings = new Findings()
  readonly #file: string

  constructor(setup: Setup) {
    this.#setup = setup
    this.#file = join(setup.gateway.home, 'gateway.state')
  }

  async run(): Promise<readonly string[]> {
    const { gateway, requests, log } = this.#setup
    const findings = this.#findings
    const alarms = await Alarms.open([{ job: 'chancery-gateway', instance: 'gw1', read: () => this.#metrics() }])
    try {
      await this.#sample('before')
      await this.#scrapeWritesNothing(alarms)
      await this.#fill(alarms)
      const { first, head } = this.#stored()
      log(JSON.stringify({ requests, stored_events: head - first + 1, state_bytes: statSync(this.#file).size }))
      findings.require(head >= 2 * requests, `${requests} requests left a head of ${head} events`)
      findings.require(first > 1, 'no event was removed: the requests do not fill the state')
      await this.#forecastIsTrue()
      alarms.expect('after the last request', [], ONE_PROCESS)
      await this.#endByAge()
    } finally {
      await gateway.stop('keep')
    }
    const { exitCode, text } = await commands.audit.verify(gateway.settings)
    findings.require(exitCode === 0, `doctor --offline says: ${text}`)
    return [...findings.violations, ...(await alarms.verdict())]
  }

  async #fill(alarms: Alarms): Promise<void> {
    const { clock, requests, days, log } = this.#setup
    const started = performance.now()
    const waves = Math.ceil(requests / WAVE)
    const every = Math.max(1, Math.floor(waves / SAMPLES))
    const waveSeconds = (days * 86_400) / waves
    for (let wave = 1; wave <= waves; wave += 1) {
      const work = [this.#write(WAVE)]
      if (wave % every === 0) work.push(this.#sample(`after ${wave * WAVE} requests`), alarms.scrape(1, 0))
      await Promise.all(work)
      if (wave % every === 0)
        log(JSON.stringify({ requests: wave * WAVE, seconds: Math.round((performance.now() - started) / 1000) }))
      clock.advance(waveSeconds)
    }
  }

  /** The audit of requests as /verify makes it: the intent is stored before the work, the completion before the answer. */
  async #write(count: number): Promise<void> {
    const { audit, clock } = this.#setup.gateway.gateway.core
    const requests = Array.from({ length: count }, () => ({
      requestId: randomUUID(),
      method: 'POST',
      route: '/verify',
      startedMs: clock.monotonicMs(),
      caller: 'client' as const,
      context: {
        client_id: 'caller',
        auth_method: 'bearer' as const,
        policy_revision: 'test-1',
        network: 'agency',
        trust_decision: { trusted: true, reasons: [] },
        certificate_digests: [createHash('sha256').update(randomUUID()).digest('hex')],
        crl: { issuer: 'na-main', sequence: 9 },
      },
    }))
    await Promise.all(requests.map(async (request) => audit.begin(request)))
    await Promise.all(requests.map(async (request) => audit.complete(request, 200)))
  }

  /** Requests over HTTP, and what the gateway says of its state. */
  async #sample(when: string): Promise<void> {
    const { gateway, by, clock, token } = this.#setup
    const findings = this.#findings
    const wrong: string[] = []
    for (let made = 0; made < SAMPLED_REQUESTS; made += 1) {
      const body = { certificate: await testCertificate(by, clock.now()) }
      const { status, text, body: said } = await gateway.request('POST', '/verify', { token, body })
      if (status !== 200 || said['trusted'] !== true) wrong.push(`${status} ${text.slice(0, 200)}`)
    }
    findings.require(wrong.length === 0, `${when}: ${wrong.length} requests were not answered well: ${wrong[0]}`)
    const ready = await gateway.request('GET', '/ready')
    const isReady = ready.status === 200 && !ready.text.includes('state_full_soon')
    findings.require(isReady, `${when}: /ready was answered ${ready.status} ${ready.text}`)
    const { stateMaxBytes } = gateway.settings
    const { size } = statSync(this.#file)
    findings.require(size <= stateMaxBytes, `${when}: the state file has ${size} bytes, the limit is ${stateMaxBytes}`)
    const metrics = await this.#metrics()
    const used = numberOf(metrics, 'gateway_state_used_bytes') / numberOf(metrics, 'gateway_state_capacity_bytes')
    findings.require(used <= MOST_USED, `${when}: ${used} of the capacity is in use`)
    findings.require(numberOf(metrics, 'gateway_audit_pending') === 0, `${when}: events wait for a collector`)
    const fullIn = numberOf(metrics, 'gateway_state_full_in_seconds')
    findings.require(Number.isNaN(fullIn), `${when}: a day is forecast when the state is full`)
  }

  async #scrapeWritesNothing(alarms: Alarms): Promise<void> {
    const before = this.#countRequests()
    await alarms.scrape(SCRAPES, 0)
    const written = this.#countRequests() - before
    this.#findings.require(written === 0, `${SCRAPES} scrapes of /metrics wrote ${written} events`)
  }

  /** doctor names the days that the state holds, and they are those that it does hold. */
  async #forecastIsTrue(): Promise<void> {
    const { status, found } = await this.#doctor()
    const { oldest, newest } = this.#stored()
    const days = Number(newest - oldest) / Number(DAY)
    const said = Number(/events stay, of about (\d+) days/.exec(found)?.[1] ?? Number.NaN)
    // The number is rounded down, and a tenth of the ring is removed at once.
    const isTrue = said >= Math.floor(days * 0.85) && said <= Math.ceil(days * 1.15)
    this.#findings.require(isTrue, `doctor says "${found}", and the state holds ${days.toFixed(1)} days`)
    // Less than GATEWAY_AUDIT_RETENTION_DAYS fit.
    this.#findings.require(status === 'warn', `doctor gives ${status} for: ${found}`)
  }

  /** Events also leave by age. */
  async #endByAge(): Promise<void> {
    const { clock } = this.#setup
    clock.advance(Number((RETENTION + DAY) / 1_000_000n))
    // No list lasts this long, and the next one is fetched within an hour.
    await this.#findings.until('the gateway is ready after that time', JOBS_SECONDS, async () => {
      const { status } = await this.#setup.gateway.request('GET', '/ready')
      return status === 200
    })
    await this.#sample(`after ${RETENTION / DAY} days without requests`)
    await this.#findings.until(
      `events of more than ${RETENTION / DAY} days are removed`,
      JOBS_SECONDS,
      async () => this.#stored().oldest >= clock.now() - RETENTION - HOUR,
    )
    const doctor = await this.#doctor()
    this.#findings.require(doctor.status === 'good', `after that doctor gives ${doctor.status} for: ${doctor.found}`)
  }

  async #doctor(): Promise<{ readonly status: string; readonly found: string }> {
    const { gateway, settings, clock } = this.#setup
    const file = join(gateway.home, 'doctor.env')
    const own = { GATEWAY_POLICY_FILE: join(gateway.home, 'policy.json'), GATEWAY_STATE_FILE: this.#file }
    const text = toEnv({ ...settings, ...own, GATEWAY_ADDR: new URL(gateway.url).host })
    await writeFile(file, text, { mode: 0o600 })
    const findings = await commands.diagnose(file, { offline: true, clock })
    return findings.find(({ check }) => check === 'state-room') ?? { status: 'absent', found: '' }
  }

  /** Stored events of requests, besides those of the gateway. */
  #countRequests(): number {
    return this.#read((db) => {
      const row = db.prepare(`select count(*) as count from audit where instr(body, '"phase":') > 0`).get()
      return Number(row?.['count'])
    })
  }

  #stored(): { readonly first: number; readonly head: number; readonly oldest: Instant; readonly newest: Instant } {
    return this.#read((db) => {
      const row = (order: 'asc' | 'desc') =>
        db.prepare(`select sequence, body from audit order by sequence ${order} limit 1`).get()
      const [first, head] = [row('asc'), row('desc')]
      return {
        first: Number(first?.['sequence']),
        head: Number(head?.['sequence']),
        oldest: timeOf(first?.['body']),
        newest: timeOf(head?.['body']),
      }
    })
  }

  /** Next to the running gateway, as its commands do. */
  #read<Value>(read: (db: DatabaseSync) => Value): Value {
    const db = new DatabaseSync(this.#file, { readOnly: true, timeout: 60_000 })
    try {
      return read(db)
    } finally {
      db.close()
    }
  }

  async #metrics(): Promise<string> {
    const { gateway, token } = this.#setup
    const { status, text } = await gateway.request('GET', '/metrics', { token })
    if (status !== 200) throw new Error(`/metrics was answered ${status}`)
    return text
  }
}

function timeOf(body: unknown): Instant {
  const event = readJson(String(body))
  const at = isJsonObject(event) ? instantIn(event, 'at') : undefined
  if (at === undefined) throw new Error('an audit event has a time')
  return at
}

function numberOf(metrics: string, name: string): number {
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1])
}
