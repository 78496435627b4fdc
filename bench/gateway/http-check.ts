import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '@chancery/service-kit'
import { testProof } from '@chancery/testkit'
import { startCheckProxy } from '../../tests/instances/check-proxies.ts'
import type { BenchOptions, BenchResult, Measurement } from '../lib/bench.ts'
import { processSeconds } from '../lib/cpu.ts'
import { median, quantile, round } from '../lib/statistics.ts'
import { AUDIENCE, type CheckedNode, DECIDED, openChecked, PROVEN } from './checked-network.ts'

/** A route that needs a proof only, and one whose decision is reused. */
const ROUTES = [
  { name: 'proven', target: PROVEN, bar: 0.35 },
  { name: 'reused', target: DECIDED, bar: 0.7 },
] as const
const CONNECTIONS = 16
/** Requests of each slice; `--entries` sets another number. */
const REQUESTS = 4000
/** A decision lives this long, and then one more is asked for. */
const DECISION_SECONDS = 300

/**
 * nginx with `auth_request` to the check, against the same nginx with a server that always answers 200. Each request has
 * a new proof. The second route needs a decision: the first request asks for it, and the others use it until its end.
 */
export const httpCheck: Measurement = {
  says: 'requests through nginx that ask the HTTP check, without and with a reused decision, against auth_request to a constant 200',
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { cleanup, rounds, progress, entries: requests = REQUESTS } = options
  const service = await startService(cleanup)
  const { check, pid, node } = await openChecked(options)
  const plain = await startCheckProxy('nginx', { check: service.port, service: service.port })
  const checked = await startCheckProxy('nginx', { check, service: service.port })
  for (const proxy of [plain, checked]) cleanup.add(() => proxy.stop())
  for (const { target } of ROUTES) await load(checked.port, target, await proofs(node, target, requests))
  const startedAt = performance.now()
  const figures = ROUTES.map((route) => ({ ...route, rounds: [] as Compared[] }))
  for (let at = 0; at < rounds; at += 1) {
    for (const { name, target, rounds: done } of figures) {
      const baseline = await load(plain.port, target, await proofs(node, target, requests))
      const signed = await proofs(node, target, requests)
      const before = processSeconds(pid)
      const measured = await load(checked.port, target, signed)
      const gatewayMicros = ((processSeconds(pid) - before) * 1_000_000) / requests
      const ratio = measured.perSecond / baseline.perSecond
      const addedP99Ms = measured.p99Ms - baseline.p99Ms
      done.push({ ratio, perSecond: measured.perSecond, addedP99Ms, gatewayMicros })
      progress(`round ${at + 1}, ${name}: ${Math.round(measured.perSecond)} checks/s, ratio ${ratio.toFixed(3)}`)
    }
  }
  const decisions = requireReused(service.decisions, (performance.now() - startedAt) / 1000)
  const [proven, reused] = figures.map((each) => summarize(each.rounds, each.bar))
  if (proven === undefined || reused === undefined) throw new Error('no rounds')
  return { ...proven, reused: { ...reused, decisions } }
}

interface Compared {
  readonly ratio: number
  readonly perSecond: number
  readonly addedP99Ms: number
  /** Processor time of the gateway for one check. Other load changes it less than a rate. */
  readonly gatewayMicros: number
}

function summarize(rounds: readonly Compared[], bar: number) {
  return {
    ratio: round(median(rounds.map(({ ratio }) => ratio))),
    bar,
    ratios: rounds.map(({ ratio }) => round(ratio)),
    checks_per_second: round(median(rounds.map(({ perSecond }) => perSecond)), 0),
    added_p99_ms: round(median(rounds.map(({ addedP99Ms }) => addedP99Ms)), 2),
    gateway_micros: round(median(rounds.map(({ gatewayMicros }) => gatewayMicros)), 0),
  }
}

/** Returns the number of decisions. More than one for each life means that they were not reused. */
function requireReused(ids: ReadonlySet<string>, seconds: number): number {
  const most = 2 + Math.floor(seconds / DECISION_SECONDS)
  if (ids.size === 0 || ids.size > most) throw new Error(`${ids.size} decisions in ${Math.round(seconds)} s`)
  return ids.size
}

interface Service {
  readonly port: number
  /** Ids of the decisions that the check passed on. */
  readonly decisions: ReadonlySet<string>
}

/** Answers 200 to everything: it is the service of both proxies, and the check of the first. */
async function startService(cleanup: BenchOptions['cleanup']): Promise<Service> {
  const decisions = new Set<string>()
  const server = createServer(({ headers }, response) => {
    const id = headers['chancery-decision']
    if (typeof id === 'string' && id !== '') decisions.add(id)
    // The proxy lets nothing pass without the name of a node.
    response.writeHead(200, { 'content-length': 0, 'chancery-node': 'constant' }).end()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  cleanup.add(async () => void server.close())
  return { port: (server.address() as AddressInfo).port, decisions }
}

type Proof = Record<string, string>

function proofs({ certificate, signer }: CheckedNode, target: string, length: number): Promise<Proof[]> {
  const facts = { method: 'GET', target, audience: AUDIENCE, certificate, signer }
  return Promise.all(
    Array.from({ length }, async () => ({ ...(await testProof({ ...facts, now: systemClock.now() })) })),
  )
}

/** Sends each request once. Every response must be 200. */
async function load(port: number, path: string, requests: readonly Proof[]) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const times: number[] = []
  const started = performance.now()
  let next = 0
  const send = (headers: Proof): Promise<void> =>
    new Promise((resolve, reject) => {
      const sentAt = performance.now()
      request({ port, host: '127.0.0.1', path, agent, headers }, (response) => {
        response.resume()
        response.once('end', () => {
          times.push(performance.now() - sentAt)
          if (response.statusCode === 200) resolve()
          else reject(new Error(`status ${response.statusCode}`))
        })
      })
        .once('error', reject)
        .end()
    })
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (let headers = requests[next]; headers !== undefined; headers = requests[next]) {
        next += 1
        await send(headers)
      }
    }),
  )
  agent.destroy()
  const seconds = (performance.now() - started) / 1000
  const sorted = times.toSorted((a, b) => a - b)
  return { perSecond: requests.length / seconds, p99Ms: quantile(sorted, 0.99) }
}
