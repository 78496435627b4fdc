import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '@chancery/service-kit'
import { testCertificate } from '@chancery/testkit'
import { openGatewayCaller } from '../gateway/verify.ts'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { HOST } from '../lib/conditions.ts'
import { postgresPids, processSeconds, residentMiB } from '../lib/cpu.ts'
import { createPostgres, type Database } from '../lib/databases.ts'
import type { LoadReport, RequestPlan } from '../lib/load-task.ts'
import { LoadGenerator } from '../lib/load.ts'
import { openAuthority, type Server, startGateway } from '../lib/servers.ts'
import { mean, median, round, sum } from '../lib/statistics.ts'
import { makeNodes, proof, seedCertificates } from '../lib/test-nodes.ts'
import { type Slope, slopeWithNoise } from './slope.ts'

/** Share of the requested rate that both services answer. */
const BAR = 0.95
const SHARE = 0.7
const NODES = 5000
const CERTIFICATES = 100_000
const CONNECTIONS = 32
const SLICE_SECONDS = 10
const CAPACITY_SLICES = 3
/** Upper bound of the requests that are prepared for a second at full load. */
const MAX_PER_SECOND = 12_000
/** Part of the run before the slope of memory counts: caches and compiled code grow first. */
const SETTLING = 0.25

/**
 * Heartbeats to an authority on PostgreSQL, and verifications by a gateway, at the same time. First both at full load,
 * which is their capacity together; then at 0.7 of it. Resident memory is read after each slice.
 */
export const soak: Bench = {
  name: 'soak',
  says: 'heartbeats and gateway verifications together at 0.7 of capacity for --minutes, with the slope of resident memory',
  run,
}

interface Service {
  readonly server: Server
  readonly generator: LoadGenerator
  /** Writes the requests of the next slice and says where they are. */
  readonly prepare: (count: number) => Promise<RequestPlan>
}

interface Sample {
  readonly atHours: number
  readonly authorityMiB: number
  readonly gatewayMiB: number
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { cleanup, progress } = options
  const database = await createPostgres(cleanup)
  const authority = await openHeartbeats(options, database)
  const gateway = await openGateway(options)
  for (const { generator } of [authority, gateway]) cleanup.add(() => generator.close())
  const services = [authority, gateway]
  const capacity = await measureCapacity(services)
  const asked = capacity.map((rate) => rate * SHARE)
  progress(
    `capacity together: ${capacity.map(Math.round).join(' and ')}/s; asked: ${asked.map(Math.round).join(' and ')}/s`,
  )
  const startedAt = performance.now()
  const usedBefore = secondsOf(services, database.name)
  const [samples, reports]: [Sample[], LoadReport[][]] = [[], []]
  let plans = await prepareAll(services, asked)
  while (performance.now() - startedAt < options.minutes * 60_000) {
    const slice = Promise.all(services.map((service, at) => load(service, plans[at], SLICE_SECONDS, asked[at])))
    const [taken, next] = await Promise.all([slice, prepareAll(services, asked)])
    plans = next
    reports.push(taken)
    const sample = {
      atHours: (performance.now() - startedAt) / 3_600_000,
      authorityMiB: residentMiB(authority.server.pid),
      gatewayMiB: residentMiB(gateway.server.pid),
    }
    samples.push(sample)
    progress(
      `${Math.round(sample.atHours * 60)} min: ${taken.map(({ rate }) => Math.round(rate)).join(' and ')}/s, ${Math.round(sample.authorityMiB)} and ${Math.round(sample.gatewayMiB)} MiB`,
    )
  }
  const used = secondsOf(services, database.name) - usedBefore
  const seconds = (performance.now() - startedAt) / 1000
  const settled = samples.slice(Math.floor(samples.length * SETTLING))
  const figures = services.map((_, at) =>
    figuresOf(
      reports.map((taken) => taken[at]),
      capacity[at],
      asked[at],
    ),
  )
  const [authoritySlope, gatewaySlope] = [
    slopeWithNoise(settled.map(({ atHours, authorityMiB }) => [atHours, authorityMiB])),
    slopeWithNoise(settled.map(({ atHours, gatewayMiB }) => [atHours, gatewayMiB])),
  ]
  return {
    bar: BAR,
    ratio: round(Math.min(...figures.map(({ reached }) => reached))),
    minutes: round(seconds / 60, 1),
    service_cores: round(used / seconds, 2),
    authority: { ...figures[0], ...memory(samples, (sample) => sample.authorityMiB, authoritySlope) },
    gateway: { ...figures[1], ...memory(samples, (sample) => sample.gatewayMiB, gatewaySlope) },
  }
}

async function openHeartbeats(options: BenchOptions, database: Database): Promise<Service> {
  const { directory } = options
  const { server } = await openAuthority(options, { database })
  const nodes = makeNodes(NODES)
  await seedCertificates(database.url, nodes, CERTIFICATES)
  let at = 0
  const body = (): string => {
    const node = nodes[(at += 1) % nodes.length]
    return node === undefined ? '' : proof({ cert_id: node.certId, status: 'healthy' }, node)
  }
  let files = 0
  return {
    server,
    generator: new LoadGenerator(),
    prepare: async (count) => {
      // Two files in turn: the next one is written while the generator reads this one.
      const file = join(directory, `heartbeats-${(files += 1) % 2}.txt`)
      await writeFile(file, Array.from({ length: count }, body).join('\n'))
      return { kind: 'bodies', path: '/heartbeat', file }
    },
  }
}

async function openGateway(options: BenchOptions): Promise<Service> {
  const { by, caller, env } = await openGatewayCaller(options)
  const server = await startGateway(env, options.cleanup, options.profileDirectory)
  const headers = { Authorization: `Bearer ${caller.token}` }
  const file = join(options.directory, 'certificates.txt')
  let lines: string[] = []
  return {
    server,
    generator: new LoadGenerator(),
    prepare: async (count) => {
      if (lines.length === 0) {
        const made = Array.from({ length: 500 }, () => testCertificate(by, systemClock.now()))
        lines = (await Promise.all(made)).map((certificate) =>
          JSON.stringify({ headers, body: JSON.stringify({ certificate }) }),
        )
        // One file for all slices: certificates may be verified again.
        const all = Array.from({ length: MAX_PER_SECOND * SLICE_SECONDS }, (_, at) => lines[at % lines.length] ?? '')
        await writeFile(file, all.join('\n'))
      }
      if (count > MAX_PER_SECOND * SLICE_SECONDS) throw new Error('more requests than were prepared')
      return { kind: 'signed-bodies', path: '/verify', file }
    },
  }
}

/** Median of full-load slices with both services at work. The first slice warms up. */
async function measureCapacity(services: readonly Service[]): Promise<number[]> {
  const rates: number[][] = []
  for (let turn = 0; turn <= CAPACITY_SLICES; turn += 1) {
    const seconds = SLICE_SECONDS / 2
    const plans = await Promise.all(services.map(({ prepare }) => prepare(MAX_PER_SECOND * seconds)))
    const reports = await Promise.all(services.map((service, at) => load(service, plans[at], seconds)))
    if (turn > 0) rates.push(reports.map(({ rate }) => rate))
  }
  return services.map((_, at) => median(rates.map((taken) => taken[at] ?? 0)))
}

async function prepareAll(services: readonly Service[], asked: readonly number[]): Promise<RequestPlan[]> {
  // One request more per connection: the generator builds the first ones before its clock starts.
  const count = (rate: number): number => Math.ceil(rate * SLICE_SECONDS * 1.1) + CONNECTIONS
  return Promise.all(services.map(({ prepare }, at) => prepare(count(asked[at] ?? 0))))
}

async function load(
  { server, generator }: Service,
  plan: RequestPlan | undefined,
  seconds: number,
  pace?: number,
): Promise<LoadReport> {
  if (plan === undefined) throw new Error('no requests were prepared')
  const task = { plan, host: HOST, port: server.port, connections: CONNECTIONS, seconds }
  return generator.run({ ...task, maxRequests: MAX_PER_SECOND * seconds, ...(pace === undefined ? {} : { pace }) })
}

function secondsOf(services: readonly Service[], database: string): number {
  const pids = [...services.map(({ server }) => server.pid), ...postgresPids([database])]
  return sum(pids.map(processSeconds))
}

function figuresOf(
  given: readonly (LoadReport | undefined)[],
  capacity = 0,
  asked = 0,
): { readonly reached: number; readonly [figure: string]: number } {
  const reports = given.filter((report) => report !== undefined)
  return {
    reached: round(mean(reports.map(({ rate }) => rate)) / asked),
    capacity: Math.round(capacity),
    rate: Math.round(mean(reports.map(({ rate }) => rate))),
    p50_ms: round(median(reports.map(({ p50Ms }) => p50Ms)), 2),
    p99_ms: round(median(reports.map(({ p99Ms }) => p99Ms)), 2),
    worst_p99_ms: round(Math.max(...reports.map(({ p99Ms }) => p99Ms)), 2),
  }
}

function memory(samples: readonly Sample[], pick: (sample: Sample) => number, slope: Slope): object {
  const values = samples.map(pick)
  return {
    first_mib: round(values[0] ?? Number.NaN, 1),
    last_mib: round(values.at(-1) ?? Number.NaN, 1),
    highest_mib: round(Math.max(...values), 1),
    slope_mib_per_hour: round(slope.perHour, 1),
    slope_noise_mib_per_hour: round(slope.noise, 1),
    is_flat: Math.abs(slope.perHour) <= slope.noise,
  }
}
