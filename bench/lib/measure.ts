import { setTimeout as pause } from 'node:timers/promises'
import { MAX_FOREIGN_CORES, MEASURE_SECONDS_MAX, TURNS, WARM_UP_SECONDS } from './conditions.ts'
import { OtherLoad, processSeconds } from './cpu.ts'
import type { LoadReport } from './load-task.ts'
import { QuietWait } from './quiet-machine.ts'
import { mean } from './statistics.ts'

/** A server that can be put under load for a slice. */
export interface ComparedServer {
  readonly name: string
  /** The server process, whose processor time is reported with the rate. */
  readonly pid: number
  slice(seconds: number): Promise<LoadReport>
  /** The usual time when absent; longer for a server that is much slower than the one it is compared with. */
  readonly warmUpSeconds?: number
}

export interface MeasuredSlice extends LoadReport {
  /** Processor time of the server per request: less noisy than a rate, but without waiting times. */
  readonly serverMicros: number
}

/** All servers once, close together in time. Figures are compared only inside a round. */
export interface Round {
  readonly slices: ReadonlyMap<string, readonly MeasuredSlice[]>
  readonly foreignCores: number
}

export interface Rounds {
  /** The rounds of the result. */
  readonly used: readonly Round[]
  readonly discarded: readonly Round[]
  /** False when too few rounds were calm, so that all of them are used. The figure is then a hint only. */
  readonly calm: boolean
}

interface MeasureOptions {
  readonly rounds: number
  /** Load on each server per round, over all its slices. */
  readonly seconds: number
  /** Maximum wait for a quiet machine, over all rounds. */
  readonly waitSeconds: number
  /** Every current process of this benchmark. */
  readonly ownPids: () => readonly number[]
  readonly progress: (line: string) => void
}

/** One running comparison: servers that are only compared with each other. */
interface Comparison {
  readonly contenders: readonly ComparedServer[]
  readonly calm: Round[]
  readonly disturbed: Round[]
}

/**
 * Warms up every server, then runs rounds of each group in turn until all have enough calm ones or the time is over.
 * The result has the groups in their order.
 */
export async function measure(
  groups: readonly (readonly ComparedServer[])[],
  options: MeasureOptions,
): Promise<Rounds[]> {
  for (const comparedServer of groups.flat())
    await comparedServer.slice(comparedServer.warmUpSeconds ?? WARM_UP_SECONDS)
  const comparisons: Comparison[] = groups.map((contenders) => ({ contenders, calm: [], disturbed: [] }))
  const patience = new QuietWait(options.ownPids, options.waitSeconds)
  let measured = 0
  do {
    const open = comparisons.filter(({ calm }) => calm.length < options.rounds)
    if (open.length === 0) break
    for (const comparison of open) {
      await patience.untilCalm()
      const startedAt = performance.now()
      await runRound(comparison, options)
      measured += (performance.now() - startedAt) / 1000
    }
  } while (measured < MEASURE_SECONDS_MAX)
  return comparisons.map((comparison) => selectRounds(comparison, options.rounds))
}

async function runRound({ contenders, calm, disturbed }: Comparison, options: MeasureOptions): Promise<void> {
  // The first server changes from round to round, so that the position after the pause favours none.
  const shift = (calm.length + disturbed.length) % contenders.length
  const order = [...contenders.slice(shift), ...contenders.slice(0, shift)]
  const turns = Array.from({ length: TURNS }, (_, turn) => (turn % 2 === 0 ? order : order.toReversed())).flat()
  const round = await measureRound(turns, options)
  const isCalm = round.foreignCores <= MAX_FOREIGN_CORES
  if (isCalm) calm.push(round)
  else disturbed.push(round)
  options.progress(`${isCalm ? `round ${calm.length} of ${options.rounds}` : 'discarded'}: ${describe(round)}`)
}

async function measureRound(order: readonly ComparedServer[], options: MeasureOptions): Promise<Round> {
  const otherLoad = new OtherLoad(options.ownPids)
  otherLoad.start()
  const slices = new Map<string, MeasuredSlice[]>()
  for (const comparedServer of order) {
    const before = processSeconds(comparedServer.pid)
    const report = await comparedServer.slice(options.seconds / TURNS)
    const serverMicros = ((processSeconds(comparedServer.pid) - before) * 1_000_000) / report.requests
    slices.set(comparedServer.name, [...(slices.get(comparedServer.name) ?? []), { ...report, serverMicros }])
    // Waits while the server closes connections and collects garbage, so that this is not measured in the next slice.
    await pause(10)
  }
  return { slices, foreignCores: otherLoad.cores() }
}

/** The rounds of the result, and how many were not calm. */
export interface CalmRounds<Figures> {
  readonly used: readonly Figures[]
  readonly discarded: number
  readonly calm: boolean
}

/** Measures rounds until enough are calm or the time is over. At least half must be calm; otherwise all are used. */
export async function repeatCalm<Figures>(
  { rounds, progress }: Pick<MeasureOptions, 'rounds' | 'progress'>,
  measureOnce: () => Promise<{ readonly figures: Figures; readonly foreignCores: number; readonly line: string }>,
  seconds: number = MEASURE_SECONDS_MAX,
): Promise<CalmRounds<Figures>> {
  const [calm, disturbed]: [Figures[], Figures[]] = [[], []]
  const deadline = performance.now() + seconds * 1000
  while (calm.length < rounds && performance.now() < deadline) {
    const { figures, foreignCores, line } = await measureOnce()
    const isCalm = foreignCores <= MAX_FOREIGN_CORES
    ;(isCalm ? calm : disturbed).push(figures)
    progress(`${isCalm ? 'kept' : 'loud'}: ${line}`)
    await pause(20)
  }
  const isCalm = calm.length * 2 >= rounds
  return { used: isCalm ? calm : [...calm, ...disturbed], discarded: disturbed.length, calm: isCalm }
}

/** At least half of the rounds must have been calm; a median of fewer is not reliable. */
function selectRounds({ calm, disturbed }: Comparison, wanted: number): Rounds {
  if (calm.length * 2 >= wanted) return { used: calm, discarded: disturbed, calm: true }
  return { used: [...calm, ...disturbed], discarded: [], calm: false }
}

function describe({ slices, foreignCores }: Round): string {
  const rates = [...slices]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, each]) => `${name} ${Math.round(mean(each.map(({ rate }) => rate)))}/s`)
  return `${rates.join(', ')}; foreign ${foreignCores.toFixed(2)} cores`
}
