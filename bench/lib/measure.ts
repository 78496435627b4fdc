import { setTimeout as pause } from 'node:timers/promises'
import { QuietWait } from './quiet-machine.ts'
import { MAX_FOREIGN_CORES, MEASURE_SECONDS_MAX, TURNS, WARM_UP_SECONDS } from './conditions.ts'
import { OtherLoad, processSeconds } from './cpu.ts'
import type { LoadReport } from './load-task.ts'
import { mean } from './statistics.ts'

/** Something that can be put under load for a slice. */
export interface ComparedServer {
  readonly name: string
  /** The server process, whose processor time is noted beside the rate. */
  readonly pid: number
  slice(seconds: number): Promise<LoadReport>
  /** The usual time when absent; more where it answers much slower than what it is compared with. */
  readonly warmUpSeconds?: number
}

export interface MeasuredSlice extends LoadReport {
  /** Processor time of the server per request: less noisy than a rate, and blind to waiting. */
  readonly serverMicros: number
}

/** All contenders once, close together in time: only inside a round are figures compared. */
export interface Round {
  readonly slices: ReadonlyMap<string, readonly MeasuredSlice[]>
  readonly foreignCores: number
}

export interface Rounds {
  /** The rounds to judge. */
  readonly kept: readonly Round[]
  readonly discarded: readonly Round[]
  /** False when so few rounds were calm that all of them had to be kept: the figure is then a hint only. */
  readonly calm: boolean
}

export interface MeasureOptions {
  readonly rounds: number
  /** Load on each contender per round, over all its slices. */
  readonly seconds: number
  /** Time that may be spent waiting for others to be quiet, over all rounds. */
  readonly waitSeconds: number
  /** Every process of this benchmark, as of now. */
  readonly ownPids: () => readonly number[]
  readonly progress: (line: string) => void
}

/** One comparison under way: contenders that are only compared with each other. */
interface Course {
  readonly contenders: readonly ComparedServer[]
  readonly calm: Round[]
  readonly loud: Round[]
}

/**
 * Warms every contender up, then gives each group its rounds in turn until all had enough calm ones or the time is
 * over. The result has the groups in their order.
 */
export async function measure(
  groups: readonly (readonly ComparedServer[])[],
  options: MeasureOptions,
): Promise<Rounds[]> {
  for (const contender of groups.flat()) await contender.slice(contender.warmUpSeconds ?? WARM_UP_SECONDS)
  const courses: Course[] = groups.map((contenders) => ({ contenders, calm: [], loud: [] }))
  const patience = new QuietWait(options.ownPids, options.waitSeconds)
  let measured = 0
  do {
    const open = courses.filter(({ calm }) => calm.length < options.rounds)
    if (open.length === 0) break
    for (const course of open) {
      await patience.untilCalm()
      const startedAt = performance.now()
      await runRound(course, options)
      measured += (performance.now() - startedAt) / 1000
    }
  } while (measured < MEASURE_SECONDS_MAX)
  return courses.map((course) => judge(course, options.rounds))
}

async function runRound({ contenders, calm, loud }: Course, options: MeasureOptions): Promise<void> {
  // Who begins changes from round to round, so that nobody always has the place after the pause.
  const shift = (calm.length + loud.length) % contenders.length
  const order = [...contenders.slice(shift), ...contenders.slice(0, shift)]
  const turns = Array.from({ length: TURNS }, (_, turn) => (turn % 2 === 0 ? order : order.toReversed())).flat()
  const round = await measureRound(turns, options)
  const isCalm = round.foreignCores <= MAX_FOREIGN_CORES
  if (isCalm) calm.push(round)
  else loud.push(round)
  options.progress(`${isCalm ? `round ${calm.length} of ${options.rounds}` : 'discarded'}: ${describe(round)}`)
}

async function measureRound(order: readonly ComparedServer[], options: MeasureOptions): Promise<Round> {
  const foreign = new OtherLoad(options.ownPids)
  foreign.start()
  const slices = new Map<string, MeasuredSlice[]>()
  for (const contender of order) {
    const before = processSeconds(contender.pid)
    const report = await contender.slice(options.seconds / TURNS)
    const serverMicros = ((processSeconds(contender.pid) - before) * 1_000_000) / report.requests
    slices.set(contender.name, [...(slices.get(contender.name) ?? []), { ...report, serverMicros }])
    // The server closes its connections and collects what the slice left; that must not fall into the next one.
    await pause(10)
  }
  return { slices, foreignCores: foreign.cores() }
}

/** At least half of the wanted rounds must have been calm; a median of fewer says little. */
function judge({ calm, loud }: Course, wanted: number): Rounds {
  if (calm.length * 2 >= wanted) return { kept: calm, discarded: loud, calm: true }
  return { kept: [...calm, ...loud], discarded: [], calm: false }
}

function describe({ slices, foreignCores }: Round): string {
  const rates = [...slices]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, each]) => `${name} ${Math.round(mean(each.map(({ rate }) => rate)))}/s`)
  return `${rates.join(', ')}; foreign ${foreignCores.toFixed(2)} cores`
}
