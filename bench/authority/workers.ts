import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { childPids } from '@chancery/testkit'
import type { BenchOptions, BenchResult, Measurement } from '../lib/bench.ts'
import { CONNECTIONS, HOST, WARM_UP_SECONDS } from '../lib/conditions.ts'
import { OtherLoad, postgresPids, processSeconds } from '../lib/cpu.ts'
import type { Database } from '../lib/databases.ts'
import { LoadGenerator } from '../lib/load.ts'
import { repeatCalm } from '../lib/measure.ts'
import { openAuthority, type Server } from '../lib/servers.ts'
import { median, round, sum } from '../lib/statistics.ts'
import { decisionBody, newSigner } from '../lib/trust-records.ts'
import { repeated } from './verify.ts'

/** Two workers on two cores, over one worker on one core. */
const BAR = 1.6
const WORKERS = 2
const PATH = '/boundary/verify'
const SIGNERS = 16
const PER_SECOND = 16_000
const START_SECONDS = 60
const IDLE_MS = 500
const IDLE_SECONDS = 0.03
/** Share of the processor time of both workers that each of them has when both serve. */
const SERVING_SHARE = 0.2

/**
 * The load generator needs a part of the same cores. Two workers and the generator compete; one worker and the
 * generator do not. So the rates are divided by the processor time that the service could have used: the cores (one
 * for one worker) without what the generator and foreign processes used. Idle time, the supervisor and the database
 * stay in the bill of the service. The ratio is of rates on whole cores: `2 * two / available : one / available`.
 */
export const workers: Measurement = {
  says: `POST ${PATH} of an authority with two workers on two cores against one on one core, on PostgreSQL`,
  run,
}

interface Measured {
  readonly server: Server
  readonly workers: number
  readonly database: Database
}

interface Slice {
  readonly rate: number
  readonly p99Ms: number
  readonly generatorCores: number
  readonly serverMicros: number
  /** Per slice, because two workers take more from other processes than one does. */
  readonly foreignCores: number
}

interface Round {
  readonly one: Slice
  readonly two: Slice
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { cleanup } = options
  if (availableParallelism() < WORKERS) throw new Error('this benchmark needs two cores')
  const start = async (count: number): Promise<Measured> => {
    const settings = { NA_WORKERS: String(count), RATE_LIMIT_STORE: 'database' }
    const { server, database } = await openAuthority(options, { settings })
    return { server, workers: count, database }
  }
  const [one, two] = [await start(1), await start(WORKERS)]
  const generator = LoadGenerator.open(cleanup)
  const own = (): number[] => [
    process.pid,
    generator.pid,
    ...[one, two].flatMap(pidsOf),
    ...postgresPids([one.database.name, two.database.name]),
  ]
  const load = await createLoad(generator, own, options)
  await load(one, WARM_UP_SECONDS)
  await untilBothServe(two, load)
  const { used, ...rounds } = await repeatCalm(options, async () => {
    // One before and one after, so that a machine that slows down favours neither.
    const before = await load(one, options.seconds / 2)
    const both = await load(two, options.seconds)
    const after = await load(one, options.seconds / 2)
    const figures = { one: average(before, after), two: both }
    const foreignCores = foreignOf(figures)
    const line = `one ${Math.round(figures.one.rate)}/s, two ${Math.round(both.rate)}/s, ratio ${ratioOf(figures).toFixed(2)}; generator ${figures.one.generatorCores.toFixed(2)} and ${both.generatorCores.toFixed(2)} cores, foreign ${foreignCores.toFixed(2)}`
    return { figures, foreignCores, line }
  })
  return { ...summarize(used), ...rounds }
}

async function createLoad(
  generator: LoadGenerator,
  own: () => readonly number[],
  { directory }: BenchOptions,
): Promise<(measured: Measured, seconds: number) => Promise<Slice>> {
  const signers = await Promise.all(Array.from({ length: SIGNERS }, (_, n) => newSigner(`party-${n}`)))
  const body = async (at: number): Promise<string> => decisionBody(signers[at % SIGNERS] ?? (await newSigner('none')))
  const file = join(directory, 'workers.txt')
  await writeFile(file, (await repeated(PER_SECOND * WARM_UP_SECONDS, body)).join('\n'))
  const plan = { kind: 'bodies' as const, path: PATH, file }
  return async (measured, seconds) => {
    const otherLoad = new OtherLoad(own)
    otherLoad.start()
    const before = sum(pidsOf(measured).map(processSeconds))
    const report = await generator.run({
      plan,
      host: HOST,
      port: measured.server.port,
      connections: CONNECTIONS,
      seconds,
      maxRequests: Math.ceil(PER_SECOND * seconds),
    })
    const used = sum(pidsOf(measured).map(processSeconds)) - before
    return { ...report, serverMicros: (used * 1_000_000) / report.requests, foreignCores: otherLoad.cores() }
  }
}

/** The second worker starts after the first one serves. It has started when it no longer needs the processor. */
async function untilBothServe(two: Measured, load: Awaited<ReturnType<typeof createLoad>>): Promise<void> {
  const deadline = performance.now() + START_SECONDS * 1000
  while (performance.now() < deadline) {
    const pids = childPids(two.server.pid)
    const atRest = sum(pids.map(processSeconds))
    await pause(IDLE_MS)
    if (pids.length < WORKERS || sum(pids.map(processSeconds)) - atRest > IDLE_SECONDS) continue
    const before = pids.map(processSeconds)
    await load(two, WARM_UP_SECONDS)
    const used = pids.map((pid, index) => processSeconds(pid) - (before[index] ?? 0))
    if (used.length === WORKERS && Math.min(...used) >= SERVING_SHARE * sum(used)) return
  }
  throw new Error('only one worker serves')
}

function pidsOf({ server }: Measured): number[] {
  return [server.pid, ...childPids(server.pid)]
}

function average(a: Slice, b: Slice): Slice {
  const mean = (pick: (slice: Slice) => number): number => (pick(a) + pick(b)) / 2
  return {
    rate: mean((slice) => slice.rate),
    p99Ms: mean((slice) => slice.p99Ms),
    generatorCores: mean((slice) => slice.generatorCores),
    serverMicros: mean((slice) => slice.serverMicros),
    foreignCores: mean((slice) => slice.foreignCores),
  }
}

function foreignOf({ one, two }: Round): number {
  return Math.max(one.foreignCores, two.foreignCores)
}

function ratioOf({ one, two }: Round): number {
  const perCore = ({ rate, generatorCores, foreignCores }: Slice, cores: number): number =>
    rate / Math.min(cores, availableParallelism() - generatorCores - foreignCores)
  return (WORKERS * perCore(two, WORKERS)) / perCore(one, 1)
}

function summarize(rounds: readonly Round[]): BenchResult {
  const over = (pick: (figures: Round) => number, digits = 2): number => round(median(rounds.map(pick)), digits)
  const ratios = rounds.map(ratioOf)
  const of = (pick: (figures: Round) => Slice): object => ({
    rate: over((f) => pick(f).rate, 0),
    p99_ms: over((f) => pick(f).p99Ms),
    server_cpu_us: over((f) => pick(f).serverMicros, 1),
    generator_cores: over((f) => pick(f).generatorCores),
  })
  return {
    bar: BAR,
    ratio: round(median(ratios)),
    ratios: ratios.map((ratio) => round(ratio)),
    /** The rates as they are, with the generator on the same cores. */
    rate_ratio: over(({ one, two }) => two.rate / one.rate),
    /** By processor time per request: without waiting, and nearly the same on a busy machine. */
    cpu_ratio: over(({ one, two }) => (WORKERS * one.serverMicros) / two.serverMicros),
    one: of(({ one }) => one),
    two: of(({ two }) => two),
    foreign_cores: over(foreignOf),
    rounds: rounds.length,
  }
}
