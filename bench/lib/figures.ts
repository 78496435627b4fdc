import type { MeasuredSlice, Round, Rounds } from './measure.ts'
import { mean, median, round as toDigits } from './statistics.ts'

interface ContenderFigures {
  readonly rate: number
  readonly p50_ms: number
  readonly p99_ms: number
  readonly server_cpu_us: number
  readonly generator_cores: number
}

export interface RatioFigures {
  readonly ratio: number
  readonly ratios: readonly number[]
  /** Processor time of the baseline's server over the product's, per request: the ratio without waiting. */
  readonly cpu_ratio: number
}

/** The medians over the rounds of one server. */
export function serverFigures(rounds: Rounds, name: string): ContenderFigures {
  const over = (pick: (slice: MeasuredSlice) => number, digits: number): number =>
    toDigits(median(rounds.used.map((round) => inRound(round, name, pick))), digits)
  return {
    rate: over((slice) => slice.rate, 0),
    p50_ms: over((slice) => slice.p50Ms, 2),
    p99_ms: over((slice) => slice.p99Ms, 2),
    server_cpu_us: over((slice) => slice.serverMicros, 1),
    generator_cores: over((slice) => slice.generatorCores, 2),
  }
}

/** The median of the ratios inside the rounds. */
export function ratioFigures(rounds: Rounds, product: string, baseline: string): RatioFigures {
  const ratios = rounds.used.map((round) => inRound(round, product, rateOf) / inRound(round, baseline, rateOf))
  const cpuRatios = rounds.used.map((round) => inRound(round, baseline, microsOf) / inRound(round, product, microsOf))
  return {
    ratio: toDigits(median(ratios)),
    ratios: ratios.map((ratio) => toDigits(ratio)),
    cpu_ratio: toDigits(median(cpuRatios)),
  }
}

interface RoundFigures {
  readonly rounds: number
  readonly discarded: number
  readonly calm: boolean
  readonly foreign_cores: number
}

/** How calm the machine was, over all groups. */
export function roundFigures(groups: readonly Rounds[]): RoundFigures {
  const otherLoad = groups.flatMap(({ used }) => used.map((round) => round.foreignCores))
  return {
    rounds: Math.min(...groups.map(({ used }) => used.length)),
    discarded: groups.reduce((sum, { discarded }) => sum + discarded.length, 0),
    calm: groups.every(({ calm }) => calm),
    foreign_cores: toDigits(median(otherLoad)),
  }
}

function rateOf(slice: MeasuredSlice): number {
  return slice.rate
}

function microsOf(slice: MeasuredSlice): number {
  return slice.serverMicros
}

function inRound(round: Round, name: string, pick: (slice: MeasuredSlice) => number): number {
  return mean((round.slices.get(name) ?? []).map(pick))
}
