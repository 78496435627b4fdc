import { type ChildProcess, fork } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { LIMITERS } from '@chancery/contract'
import type { AttackMessage, AttackReport, AttackTask } from '../lib/attacking-task.ts'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import type { Cleanup } from '../lib/cleanup.ts'
import { DEFAULT_ROUNDS, HOST, MAX_FOREIGN_CORES, WARM_UP_SECONDS } from '../lib/conditions.ts'
import { OtherLoad, postgresPids, processSeconds } from '../lib/cpu.ts'
import type { LoadReport } from '../lib/load-task.ts'
import { LoadGenerator } from '../lib/load.ts'
import { QuietWait } from '../lib/quiet-machine.ts'
import { openAuthority } from '../lib/servers.ts'
import { median, round, sum } from '../lib/statistics.ts'
import { type BenchNode, makeNodes, proof, seedCertificates } from '../lib/test-nodes.ts'

const BAR = 0.8
const P99_FACTOR_BAR = 3
const NODES = 2000
const CONNECTIONS = 16
const PER_SECOND = 4000
const SLICE_SECONDS = 6
/** One window of the limiters. The attacking address sends all that it may send in a window as fast as possible. */
const HOSTILE_SLICES = 10
/** Before and after the attack, so that a machine whose speed changes treats both alike. */
const CALM_SLICES = 3
const OTHERS = ['127.0.0.11', '127.0.0.12', '127.0.0.13', '127.0.0.14']

/**
 * Heartbeats of other nodes: half of the calm time, one minute of attack, and the other half of the calm time. In the
 * attack one address sends all that it may send in a minute, in the most expensive form. Limits are the usual ones;
 * only those of heartbeats are raised. `--rounds` above 9 is a number of minutes, each with another attacking address.
 */
export const hostileShare: Bench = {
  name: 'hostile-share',
  says: 'heartbeats of other addresses while one address spends everything it may, against calm',
  run,
}

interface Round {
  readonly calm: readonly LoadReport[]
  readonly hostile: readonly LoadReport[]
  readonly cores: { readonly calm: Cores; readonly hostile: Cores }
  readonly report: AttackReport
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { cleanup, directory } = options
  const settings = { ...usualLimits(), EVIDENCE_STORE: 'on' }
  const { database, server } = await openAuthority(options, { settings })
  const nodes = makeNodes(NODES)
  await seedCertificates(database.url, nodes, NODES)
  const generator = LoadGenerator.open(cleanup)
  const caller = await startCaller(cleanup)
  const parts: Parts = () => ({
    authority: [server.pid],
    database: postgresPids([database.name]),
    others: [generator.pid],
    hostile: [caller.pid ?? 0],
  })
  const beats = beatsOf(nodes, { generator, port: server.port, directory })
  await runAll(await beats(1, WARM_UP_SECONDS))
  await attack(caller, { port: server.port, from: '127.0.1.1', seconds: WARM_UP_SECONDS })
  const rounds: Round[] = []
  const patience = new QuietWait(() => [process.pid, ...Object.values(parts()).flat()], options.waitSeconds)
  const wanted = options.rounds > DEFAULT_ROUNDS ? options.rounds - DEFAULT_ROUNDS : 1
  for (let index = 0; index < wanted; index += 1) {
    const [before, under, after] = [await beats(CALM_SLICES), await beats(HOSTILE_SLICES), await beats(CALM_SLICES)]
    await patience.untilCalm()
    const calm = await measured(parts, () => runAll(before))
    const seconds = HOSTILE_SLICES * SLICE_SECONDS
    const attacking = attack(caller, { port: server.port, from: `127.0.1.${index + 2}`, seconds })
    const hostile = await measured(parts, () => runAll(under))
    const report = await attacking
    await pause(1000)
    const cores = { calm: calm.cores, hostile: hostile.cores }
    rounds.push({ calm: [...calm.reports, ...(await runAll(after))], hostile: hostile.reports, cores, report })
    options.progress(describe(rounds.at(-1) as Round))
  }
  return summarize(rounds)
}

/** Slices of heartbeats, signed in advance so that signing is not measured. */
function beatsOf(
  nodes: readonly BenchNode[],
  place: { readonly generator: LoadGenerator; readonly port: number; readonly directory: string },
): (count: number, seconds?: number) => Promise<readonly (() => Promise<LoadReport>)[]> {
  let [at, files] = [0, 0]
  const slice = async (seconds: number): Promise<() => Promise<LoadReport>> => {
    files += 1
    const file = join(place.directory, `bodies-${files}.txt`)
    const bodies = Array.from({ length: Math.ceil(PER_SECOND * seconds) }, () => {
      const node = nodes[(at += 1) % nodes.length]
      return node === undefined ? '' : proof({ cert_id: node.certId, status: 'healthy' }, node)
    })
    await writeFile(file, bodies.join('\n'))
    const plan = { kind: 'bodies' as const, path: '/heartbeat', file }
    const load = { plan, host: HOST, port: place.port, connections: CONNECTIONS, addresses: OTHERS }
    return () => place.generator.run({ ...load, seconds, maxRequests: bodies.length * 2 })
  }
  return async (count, seconds = SLICE_SECONDS) => {
    const slices = []
    for (let made = 0; made < count; made += 1) slices.push(await slice(seconds))
    return slices
  }
}

async function runAll(slices: readonly (() => Promise<LoadReport>)[]): Promise<readonly LoadReport[]> {
  const reports: LoadReport[] = []
  for (const slice of slices) reports.push(await slice())
  return reports
}

type Parts = () => Readonly<Record<string, readonly number[]>>
type Cores = Readonly<Record<string, number>>

/** Cores that each process of the benchmark, and everything else on the machine, used in this time. */
async function measured(
  parts: Parts,
  work: () => Promise<readonly LoadReport[]>,
): Promise<{ readonly reports: readonly LoadReport[]; readonly cores: Cores }> {
  const used = (): readonly (readonly [string, number])[] =>
    Object.entries(parts()).map(([name, pids]) => [name, sum(pids.map(processSeconds))])
  const otherLoad = new OtherLoad(() => [process.pid, ...Object.values(parts()).flat()])
  const [before, startedAt] = [new Map(used()), performance.now()]
  otherLoad.start()
  const reports = await work()
  const seconds = (performance.now() - startedAt) / 1000
  const cores = used().map(([name, now]) => [name, round((now - (before.get(name) ?? 0)) / seconds, 2)] as const)
  return { reports, cores: { ...Object.fromEntries(cores), foreign: round(otherLoad.cores(), 2) } }
}

function summarize(rounds: readonly Round[]): BenchResult {
  const ratios = rounds.map(({ calm, hostile }) => rateOf(hostile) / rateOf(calm))
  const factors = rounds.map(({ calm, hostile }) => p99Of(hostile) / p99Of(calm))
  const worst = rounds.flatMap(({ calm, hostile }) => hostile.map(({ rate }) => rate / rateOf(calm)))
  const otherLoad = rounds.flatMap(({ cores }) => [cores.calm['foreign'] ?? 0, cores.hostile['foreign'] ?? 0])
  return {
    ratio: round(median(ratios)),
    bar: BAR,
    // With other load on the machine the two times cannot be compared, so the figure is a hint only.
    calm_machine: Math.max(...otherLoad) <= MAX_FOREIGN_CORES,
    ratios: ratios.map((ratio) => round(ratio)),
    p99_factor: round(median(factors), 2),
    p99_factor_bar: P99_FACTOR_BAR,
    p99_factors: factors.map((factor) => round(factor, 2)),
    worst_slice_ratio: round(Math.min(...worst)),
    calm: figures(rounds.map(({ calm }) => calm)),
    hostile: figures(rounds.map(({ hostile }) => hostile)),
    slice_seconds: SLICE_SECONDS,
    cores_used: rounds.at(-1)?.cores,
    attack: rounds.at(-1)?.report,
  }
}

const rateOf = (reports: readonly LoadReport[]): number =>
  sum(reports.map(({ requests }) => requests)) / sum(reports.map(({ seconds }) => seconds))
/** Of a typical slice, because other load may have disturbed a single one. */
const p99Of = (reports: readonly LoadReport[]): number => median(reports.map(({ p99Ms }) => p99Ms))

function figures(rounds: readonly (readonly LoadReport[])[]): { rate: number; p50_ms: number; p99_ms: number } {
  return {
    rate: Math.round(median(rounds.map(rateOf))),
    p50_ms: round(median(rounds.flat().map(({ p50Ms }) => p50Ms)), 2),
    p99_ms: round(median(rounds.map(p99Of)), 2),
  }
}

function describe({ calm, hostile, cores }: Round): string {
  const rates = hostile.map(({ rate, p99Ms }) => `${Math.round(rate)} (${Math.round(p99Ms)} ms)`).join(' ')
  return `calm ${Math.round(rateOf(calm))}/s, p99 ${p99Of(calm).toFixed(1)} ms; under attack ${rates}; ${JSON.stringify(cores)}`
}

/** The default limits. Those of heartbeats stay raised, because their rate is measured. */
function usualLimits(): Readonly<Record<string, string>> {
  const isRaised = (setting: string): boolean => /_NODE_(?:KEY_)?PER_MINUTE$/.test(setting)
  const usual = Object.values(LIMITERS).filter(({ setting }) => !isRaised(setting))
  return Object.fromEntries(usual.map((limiter) => [limiter.setting, String(limiter.default)]))
}

async function startCaller(cleanup: Cleanup): Promise<ChildProcess> {
  const caller = fork(fileURLToPath(new URL('../lib/attacking-caller.ts', import.meta.url)), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  cleanup.add(() => {
    if (caller.connected) caller.disconnect()
  })
  await nextMessage(caller)
  return caller
}

async function attack(caller: ChildProcess, task: AttackTask): Promise<AttackReport> {
  const said = nextMessage(caller)
  caller.send(task)
  const message = await said
  if (!('report' in message)) throw new Error(`attacking caller: ${JSON.stringify(message)}`)
  return message.report
}

function nextMessage(caller: ChildProcess): Promise<AttackMessage> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error('the attacking caller ended'))
    caller.once('exit', onExit)
    caller.once('message', (message) => {
      caller.off('exit', onExit)
      resolve(message as AttackMessage)
    })
  })
}
