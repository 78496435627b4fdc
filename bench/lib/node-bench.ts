import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BenchOptions } from './bench.ts'
import { CONNECTIONS, HOST, WARM_UP_SECONDS } from './conditions.ts'
import { OtherLoad, postgresPids, processSeconds } from './cpu.ts'
import type { Database } from './databases.ts'
import type { LoadReport } from './load-task.ts'
import { LoadGenerator } from './load.ts'
import { repeatCalm } from './measure.ts'
import { BareRows, type BatchStatement } from './raw-inserts.ts'
import { type Server, startEcho } from './servers.ts'
import { median, round, sum } from './statistics.ts'
import { type BareRates, limitOf, measureSignatures } from './theoretical-limit.ts'

/** Parts of a benchmark of a node route. */
export interface NodeWork {
  readonly path: string
  /** New signed bodies; called before each slice. */
  readonly bodies: (count: number) => Promise<readonly string[]>
  readonly database: Database
  readonly processes: readonly Server[]
  /** Left out where nothing is written: then P does not limit. */
  readonly statement?: BatchStatement
  readonly batch?: number
  readonly verifications: number
  readonly signatures: number
  readonly perSecond: number
  /** How often the product is warmed up: more than once where it answers too few requests to be compiled. */
  readonly warmUps?: number
  /** Bodies come with headers; see load-task.ts. */
  readonly isSigned?: true
}

export interface NodeFigures {
  readonly ratio: number
  readonly ratios: readonly number[]
  readonly rate: number
  readonly limit: number
  readonly p50_ms: number
  readonly p99_ms: number
  readonly server_cpu_us: number
  /**
   * Processor time of echo and verifications over that of the server: the ratio without waiting and without the load
   * generator, so a little lower, and nearly the same on a busy machine. Only where nothing is written or signed.
   */
  readonly cpu_ratio: number | undefined
  readonly database_cpu_us: number
  readonly bare: BareRates
  readonly discarded: number
}

/** A slice with the processor time of both sides per request: less noisy than a rate, but without waiting times. */
interface CountedReport extends LoadReport {
  readonly serverMicros: number
  readonly databaseMicros: number
}

interface RoundFigures {
  readonly report: CountedReport
  readonly bare: BareRates
  readonly limit: number
  /** Processor time the bare parts need for one request. */
  readonly bareMicros: number
}

/** Alternates the bare parts and the product inside every round and uses the median of the in-round ratios to L. */
export async function measureAgainstLimit(work: NodeWork, options: BenchOptions): Promise<NodeFigures> {
  const generator = LoadGenerator.open(options.cleanup)
  const echoes = [await startEcho(options.cleanup), await startEcho(options.cleanup)]
  const rowsRate = await openRows(work, options)
  const slice = async (servers: readonly Server[], seconds: number): Promise<CountedReport> => {
    const file = join(options.directory, 'bodies.txt')
    await writeFile(file, (await work.bodies(Math.ceil(work.perSecond * seconds))).join('\n'))
    const [first, ...more] = servers.map((server) => server.port)
    const plan = {
      kind: work.isSigned === true ? ('signed-bodies' as const) : ('bodies' as const),
      path: work.path,
      file,
    }
    const load = { plan, host: HOST, port: first ?? 0, morePorts: more, connections: CONNECTIONS }
    const before = secondsOf(servers, work.database)
    const report = await generator.run({ ...load, seconds, maxRequests: work.perSecond * 2 })
    const after = secondsOf(servers, work.database)
    const each = (used: number): number => (used * 1_000_000) / report.requests
    return {
      ...report,
      serverMicros: each(after.server - before.server),
      databaseMicros: each(after.database - before.database),
    }
  }
  const sampleBytes = Buffer.byteLength((await work.bodies(1))[0] ?? '')
  for (let turn = 0; turn < (work.warmUps ?? 1); turn += 1) await slice(work.processes, WARM_UP_SECONDS)
  await slice(echoes, WARM_UP_SECONDS)
  const own = (): number[] => [
    process.pid,
    generator.pid,
    ...work.processes.map((s) => s.pid),
    ...echoes.map((s) => s.pid),
    ...postgresPids([work.database.name]),
  ]
  const { used, discarded } = await repeatCalm(options, async () => {
    const otherLoad = new OtherLoad(own)
    otherLoad.start()
    const echo = await slice(echoes, options.seconds / 2)
    const bareRows = await rowsRate((options.seconds * 1000) / 4)
    const report = await slice(work.processes, options.seconds)
    const { verify, sign, verifyMicros } = await measureSignatures(sampleBytes, 150)
    const bareRowsAfter = await rowsRate((options.seconds * 1000) / 4)
    const bare = { echo: echo.rate, verify, sign, rows: (bareRows + bareRowsAfter) / 2 }
    const bareMicros = echo.serverMicros + work.verifications * verifyMicros
    const figures = { report, bare, limit: limitOf(bare, work.verifications, work.signatures), bareMicros }
    const ratio = report.rate / figures.limit
    return {
      figures,
      foreignCores: otherLoad.cores(),
      line: `${Math.round(report.rate)}/s of L ${Math.round(figures.limit)}/s = ${ratio.toFixed(2)} (E ${Math.round(bare.echo)}, V ${Math.round(verify)}, P ${Math.round(bare.rows)})`,
    }
  })
  const isPure = work.statement === undefined && work.signatures === 0
  return summarize(used, discarded, isPure)
}

function secondsOf(
  servers: readonly Server[],
  database: Database,
): { readonly server: number; readonly database: number } {
  return {
    server: sum(servers.map(({ pid }) => processSeconds(pid))),
    database: sum(postgresPids([database.name]).map(processSeconds)),
  }
}

async function openRows(work: NodeWork, options: BenchOptions): Promise<(milliseconds: number) => Promise<number>> {
  if (work.statement === undefined) return async () => Infinity
  const rows = await BareRows.open(work.database.url, work.batch ?? 1, work.statement)
  options.cleanup.add(() => rows.close())
  return (milliseconds) => rows.rate(milliseconds)
}

function summarize(rounds: readonly RoundFigures[], discarded: number, isPure: boolean): NodeFigures {
  const ratios = rounds.map(({ report, limit }) => report.rate / limit)
  const over = (pick: (figures: RoundFigures) => number, digits = 0): number => round(median(rounds.map(pick)), digits)
  return {
    ratio: round(median(ratios)),
    ratios: ratios.map((ratio) => round(ratio)),
    rate: over((f) => f.report.rate),
    limit: over((f) => f.limit),
    p50_ms: over((f) => f.report.p50Ms, 2),
    p99_ms: over((f) => f.report.p99Ms, 2),
    server_cpu_us: over((f) => f.report.serverMicros, 1),
    cpu_ratio: isPure ? over((f) => f.bareMicros / f.report.serverMicros, 3) : undefined,
    database_cpu_us: over((f) => f.report.databaseMicros, 1),
    bare: {
      echo: over((f) => f.bare.echo),
      verify: over((f) => f.bare.verify),
      sign: over((f) => f.bare.sign),
      rows: over((f) => f.bare.rows),
    },
    discarded,
  }
}
