import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isJsonObject } from '@chancery/protocol'
import { freePort, send, startFaultProxy, startTemporaryPostgres } from '@chancery/testkit'
import type { AuthorityProcess, FaultProxy } from '@chancery/testkit'
import { startBalancer } from '../../instances/balancer.ts'
import { checkPromises } from '../faults/fault-checks.ts'
import { type FaultInstances, openFaultInstances } from '../faults/fault-instances.ts'
import { FaultRecorder } from '../faults/fault-recorder.ts'
import type { Random } from '../lib/random.ts'
import { withRows } from '../lib/rows.ts'
import { throughDoor } from './outage.ts'
import { Findings, type OperateCase } from './tools.ts'

/** Of each statement, there and back. */
const LATENCY_MS = 200
const SLOW_SECONDS = 60
/** `check inter 200 fall 2` of docs/operate/high-availability.md, without `timeout check`: a later answer has failed. */
const CHECK_MS = 200
const FALL = 2
/** On a machine under other load single answers take longer. None is a refusal. */
const OUT_AT_MOST = 0.05
/** Each takes seconds, and changes of the list wait for each other. */
const LEAST = 3
/** Six callers change what is changed one after the other: one may wait longer than a statement may, and ask again. */
const REFUSED_AT_MOST = 0.02
/** A probe every second or so, and five slow ones for the finding. */
const REPORTED_SECONDS = 30

/** Every statement takes 200 ms: nothing is taken out of rotation, work goes on, and metric and finding say it. */
export const slowDatabase: OperateCase = {
  name: `PostgreSQL with ${LATENCY_MS} ms for each statement`,
  async run(random) {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-slow-'))
    const server = await startTemporaryPostgres()
    const proxy = await startFaultProxy({ host: '127.0.0.1', port: server.port })
    const through = new URL(server.url)
    through.port = String(proxy.port)
    try {
      const instances = await openFaultInstances({
        databaseUrl: () => through.href,
        directUrl: server.url,
        settings: { NA_PROXY_HOPS: '1' },
        instances: 2,
      })
      const port = await freePort()
      const upstream = instances.processes.map(({ url }) => Number(new URL(url).port))
      const balancer = await startBalancer({ folder, host: '127.0.0.1', port, upstream })
      try {
        return await endure({ instances, proxy, door: `http://127.0.0.1:${port}`, directUrl: server.url, random })
      } finally {
        proxy.delayMs = 0
        await balancer.stop()
        await instances.close()
      }
    } finally {
      await proxy.close()
      await server.remove()
      await rm(folder, { recursive: true, force: true })
    }
  },
}

async function endure(facts: {
  readonly instances: FaultInstances
  readonly proxy: FaultProxy
  readonly door: string
  readonly directUrl: string
  readonly random: Random
}): Promise<readonly string[]> {
  const { instances, proxy, door, directUrl, random } = facts
  const findings = new Findings()
  for (const index of await instances.awaitReady(10)) findings.add(`instance ${index + 1} is not ready before`)
  const doors = instances.processes.slice(0, 1).map((process) => throughDoor(process, door, instances.network))
  const recorder = new FaultRecorder({ ...instances, processes: doors, clockOffsetMs: 0 }, random)
  await recorder.open()
  recorder.start()
  await pause(2000)
  await requireReported(instances, false, findings)
  const checks = instances.processes.map((process, index) => new BalancerChecks(`instance ${index + 1}`, process))
  const before = countsOf(recorder)
  proxy.delayMs = LATENCY_MS / 2
  const began = performance.now()
  await requireReported(instances, true, findings)
  await pause(Math.max(0, SLOW_SECONDS * 1000 - (performance.now() - began)))
  const slow = countsOf(recorder)
  proxy.delayMs = 0
  for (const check of checks) for (const sentence of await check.stop()) findings.add(sentence)
  for (const [kind, count] of Object.entries(slow)) {
    const done = count - (before[kind as keyof typeof before] ?? 0)
    findings.require(done >= LEAST, `only ${done} ${kind} in ${SLOW_SECONDS} s of a slow database`)
  }
  await requireReported(instances, false, findings)
  await recorder.stop()
  const { unavailable, unknown, acked, lastRefusal, lastUnknown } = recorder
  findings.require(unknown === 0, `${unknown} requests got no certain answer (${lastUnknown})`)
  findings.require(
    unavailable <= acked * REFUSED_AT_MOST,
    `${unavailable} requests were refused, ${acked} acknowledged (${lastRefusal})`,
  )
  const database = { settings: { DATABASE_URL: directUrl }, drop: () => Promise.resolve() }
  const promises = await withRows(database, (rows) => checkPromises(instances, recorder, rows))
  return [...findings.violations, ...promises]
}

function countsOf({ decisions, acks }: FaultRecorder) {
  return { decisions: decisions.size, revocations: acks.revocations.size }
}

/** Metric and finding of each instance say that the database is slow, or that it is not. */
async function requireReported({ processes }: FaultInstances, isSlow: boolean, findings: Findings): Promise<void> {
  const word = isSlow ? 'slow' : 'quick'
  await Promise.all(
    processes.map(async (process, index) => {
      const name = `instance ${index + 1}`
      await findings.until(`${name}: chancery_database_read_seconds says ${word}`, REPORTED_SECONDS, async () => {
        const { text } = await process.request('GET', '/metrics')
        const seconds = Number(/^chancery_database_read_seconds (\S+)$/m.exec(text)?.[1])
        return seconds >= (LATENCY_MS * 0.95) / 1000 === isSlow
      })
      await findings.until(`${name}: the finding database-speed says ${word}`, REPORTED_SECONDS, async () => {
        const { json } = await process.as('standard')('GET', '/admin/findings')
        const found = isJsonObject(json) && Array.isArray(json['findings']) ? json['findings'] : []
        return found.some((each) => isJsonObject(each) && each['check'] === 'database-speed') === isSlow
      })
    }),
  )
}

/** Asks for the readiness of one instance as HAProxy does, until it is stopped. */
class BalancerChecks {
  readonly #name: string
  readonly #process: AuthorityProcess
  #isOver = false
  #asked = 0
  #refused = 0
  /** Checks after which the balancer sends it nothing. */
  #out = 0
  #last = ''
  readonly #work: Promise<void>

  constructor(name: string, process: AuthorityProcess) {
    this.#name = name
    this.#process = process
    this.#work = this.#check()
  }

  /** Returns the violations. */
  async stop(): Promise<readonly string[]> {
    this.#isOver = true
    await this.#work
    const name = this.#name
    return [
      ...(this.#asked < SLOW_SECONDS ? [`${name}: only ${this.#asked} checks were made`] : []),
      ...(this.#refused > 0 ? [`${name}: ${this.#refused} checks were refused (${this.#last})`] : []),
      ...(this.#out > this.#asked * OUT_AT_MOST
        ? [`${name} got nothing after ${this.#out} of ${this.#asked} checks (${this.#last})`]
        : []),
    ]
  }

  async #check(): Promise<void> {
    let failed = 0
    while (!this.#isOver) {
      const [ready, alive] = await Promise.all([this.#ask('/readyz'), this.#ask('/healthz')])
      this.#asked += 1
      // Without what the machine itself needs, which may be under other load.
      const isGood = ready.status === 200 && ready.ms - alive.ms < CHECK_MS
      failed = isGood ? 0 : failed + 1
      if (ready.status !== 200) this.#refused += 1
      if (failed >= FALL) this.#out += 1
      if (!isGood)
        this.#last = `${ready.status} after ${Math.round(ready.ms)} ms, /healthz after ${Math.round(alive.ms)} ms`
      await pause(Math.max(0, CHECK_MS - ready.ms))
    }
  }

  async #ask(path: string): Promise<{ readonly status: number; readonly ms: number }> {
    const started = performance.now()
    const status = await send(this.#process.url, 'GET', path).then(
      (answer) => answer.status,
      () => 0,
    )
    return { status, ms: performance.now() - started }
  }
}
