import type { Cleanup } from './cleanup.ts'

export interface BenchOptions {
  readonly rounds: number
  /** Load on each contender per round. */
  readonly seconds: number
  /** Time that may be spent waiting for others to be quiet. */
  readonly waitSeconds: number
  /** Entries of an evidence store; undefined for the number the benchmark is judged at. */
  readonly entries: number | undefined
  /** Where the product's processor profiles go; undefined makes none (profiling slows the product down). */
  readonly profileDirectory: string | undefined
  /** A directory for keys and files, removed at the end. */
  readonly directory: string
  readonly cleanup: Cleanup
  readonly progress: (line: string) => void
}

/** What a benchmark gives back; further members are its own figures. */
export interface BenchResult {
  readonly ratio: number
  readonly bar: number
  readonly [figure: string]: unknown
}

export interface Bench {
  readonly name: string
  readonly says: string
  run(options: BenchOptions): Promise<BenchResult>
}
