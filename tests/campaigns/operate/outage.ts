import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '@chancery/service-kit'
import { operatorCaller, send, startFaultProxy, startTemporaryPostgres } from '@chancery/testkit'
import type { AuthorityProcess, FaultProxy, TemporaryPostgres, TestNetwork } from '@chancery/testkit'
import { startShippedHaproxy } from '../../instances/shipped-haproxy.ts'
import { checkPromises } from '../faults/fault-checks.ts'
import { type FaultInstances, openFaultInstances } from '../faults/fault-instances.ts'
import { FaultRecorder } from '../faults/fault-recorder.ts'
import type { Random } from '../lib/random.ts'
import { withRows } from '../lib/rows.ts'
import { Alarms } from './alarms.ts'
import {
  authorityTargets,
  doctorOn,
  Findings,
  healthOf,
  readinessNames,
  requireJobsRecover,
  SCRAPES_AFTER,
  WITHOUT_STANDBY,
} from './tools.ts'
import type { OperateCase } from './tools.ts'

const GONE_SECONDS = 60
const READY_SECONDS = 30
const DOCUMENTS = [
  '/crl',
  '/policy',
  '/genesis',
  '/sovereign.json',
  '/sovereign-revocation-feed',
  '/sovereign-revocation-feed/index',
]

/** How the database becomes unreachable and reachable again. */
interface Outage {
  begin(): Promise<void>
  end(): Promise<void>
}

export const databaseGone: OperateCase = {
  name: `PostgreSQL gone for ${GONE_SECONDS} s behind HAProxy`,
  run: (random) =>
    behindHaproxy(random, (server) => {
      const isKilled = random.chance(50)
      return { begin: () => (isKilled ? server.kill() : server.stop()), end: () => server.start() }
    }),
}

/** The network drops every packet: connections are neither refused nor accepted. */
export const databaseSilent: OperateCase = {
  name: `PostgreSQL silent for ${GONE_SECONDS} s behind HAProxy`,
  run: (random) =>
    behindHaproxy(random, (_server, proxy) => ({
      begin: async () => proxy.stall(true),
      end: async () => {
        // Delayed packets are lost, because no connection waits a minute for them.
        proxy.cutAll()
        proxy.stall(false)
      },
    })),
}

async function behindHaproxy(
  random: Random,
  choose: (server: TemporaryPostgres, proxy: FaultProxy) => Outage,
): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-outage-'))
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
    try {
      const [first, second] = instances.processes
      if (first === undefined || second === undefined) throw new Error('two instances are needed')
      const haproxy = await startShippedHaproxy({ folder, upstream: [first.url, second.url] })
      try {
        return await outlast({ instances, door: haproxy.url, server, outage: choose(server, proxy), random })
      } finally {
        await haproxy.stop()
      }
    } finally {
      await instances.close()
    }
  } finally {
    await proxy.close()
    await server.remove()
    await rm(folder, { recursive: true, force: true })
  }
}

async function outlast(facts: {
  readonly instances: FaultInstances
  readonly door: string
  readonly server: TemporaryPostgres
  readonly outage: Outage
  readonly random: Random
}): Promise<readonly string[]> {
  const { instances, door, server, outage, random } = facts
  const findings = new Findings()
  const doors = instances.processes.slice(0, 1).map((process) => throughDoor(process, door, instances.network))
  const recorder = new FaultRecorder({ ...instances, processes: doors, clockOffsetMs: 0 }, random)
  await recorder.open()
  for (const path of DOCUMENTS)
    for (const process of instances.processes) {
      const answer = await process.request('GET', path)
      findings.require(answer.status === 200, `GET ${path} was answered ${answer.status} before`)
    }
  const alarms = await Alarms.open(authorityTargets(instances.processes))
  const readers = new DocumentReaders(door)
  recorder.start()
  await alarms.scrape(12, 200)
  alarms.expect('before', [])
  const began = performance.now()
  await outage.begin()
  await alarms.scrape(GONE_SECONDS, 1000, (GONE_SECONDS - 10) * 1000)
  await whileGone(instances, door, findings)
  await pause(Math.max(0, GONE_SECONDS * 1000 - (performance.now() - began)))
  alarms.expect('while PostgreSQL is gone', ['ChanceryNotReady'], WITHOUT_STANDBY)
  await outage.end()
  for (const index of await instances.awaitReady(READY_SECONDS))
    findings.add(`instance ${index + 1} is not ready again after ${READY_SECONDS} s`)
  await requireJobsRecover(instances.processes, findings)
  const acked = recorder.acked
  await alarms.scrape(SCRAPES_AFTER, 60)
  alarms.expect('after PostgreSQL is back', [], WITHOUT_STANDBY)
  await recorder.stop()
  const { failed, served } = await readers.stop()
  for (const sentence of failed.slice(0, 5)) findings.add(`a read of a public document failed: ${sentence}`)
  findings.require(failed.length <= 5, `${failed.length} reads of public documents failed`)
  findings.require(served > 10 * GONE_SECONDS, `only ${served} documents were read`)
  findings.require(recorder.acked > acked, 'nothing was stored after PostgreSQL was back')
  findings.require(
    (await doctorOn(instances, 'database-writes')) === 'good',
    'doctor does not say that writes work again',
  )
  const database = { settings: { DATABASE_URL: server.url }, drop: () => Promise.resolve() }
  const promises = await withRows(database, (rows) => checkPromises(instances, recorder, rows))
  return [...findings.violations, ...promises, ...(await alarms.verdict())]
}

async function whileGone(instances: FaultInstances, door: string, findings: Findings): Promise<void> {
  for (const [index, process] of instances.processes.entries()) {
    const name = `instance ${index + 1}`
    await findings.until(`${name} says database_unavailable`, 10, () =>
      readinessNames(process, 'reasons', 'database_unavailable'),
    )
    findings.require((await healthOf(process)).status === 'unhealthy', `${name}: /health does not say unhealthy`)
    const reads = await process.request('GET', '/readyz?for=reads')
    findings.require(reads.status === 200, `${name} answered ${reads.status} to GET /readyz?for=reads`)
  }
  const change = await send(door, 'POST', '/join', { body: {} })
  findings.require(
    change.status === 503 && change.text.includes('"reason"') && change.headers['retry-after'] !== undefined,
    `a change was answered ${change.status} ${change.text.slice(0, 200)}`,
  )
}

/** The same calls, through the balancer. */
export function throughDoor(process: AuthorityProcess, url: string, network: TestNetwork): AuthorityProcess {
  return {
    ...process,
    url,
    request: (method, target, options) => send(url, method, target, options),
    as: (name) => operatorCaller(url, network.operators[name], network.authority.publicKey, () => systemClock.now()),
  }
}

/** Two readers that fetch one document after another until they are stopped. */
class DocumentReaders {
  readonly #failed: string[] = []
  #served = 0
  #isOver = false
  readonly #work: Promise<unknown>

  constructor(url: string) {
    this.#work = Promise.all([this.#read(url), this.#read(url)])
  }

  async stop(): Promise<{ readonly failed: readonly string[]; readonly served: number }> {
    this.#isOver = true
    await this.#work
    return { failed: this.#failed, served: this.#served }
  }

  async #read(url: string): Promise<void> {
    for (let at = 0; !this.#isOver; at += 1) {
      const path = DOCUMENTS[at % DOCUMENTS.length] ?? ''
      const answer = await send(url, 'GET', path).catch((error: unknown) => ({ status: 0, text: String(error) }))
      if (answer.status === 200) this.#served += 1
      else this.#failed.push(`${path} ${answer.status} ${answer.text.slice(0, 200)}`)
      await pause(25)
    }
  }
}
