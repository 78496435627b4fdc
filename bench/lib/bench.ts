import type { Cleanup } from './cleanup.ts'

export interface BenchOptions {
  readonly rounds: number
  /** Load on each server per round. */
  readonly seconds: number
  /** Maximum wait for a quiet machine. */
  readonly waitSeconds: number
  /** Entries of an evidence store; undefined for the default of the benchmark. */
  readonly entries: number | undefined
  /** Length of a soak. */
  readonly minutes: number
  /** Folder for processor profiles of the product; undefined makes none (profiling slows the product down). */
  readonly profileDirectory: string | undefined
  /** A directory for keys and files, removed at the end. */
  readonly directory: string
  readonly cleanup: Cleanup
  readonly progress: (line: string) => void
}

/** Result of a benchmark; further members are its own figures. */
export interface BenchResult {
  readonly ratio: number
  readonly bar: number
  readonly [figure: string]: unknown
}

export interface Measurement {
  readonly says: string
  run(options: BenchOptions): Promise<BenchResult>
}

export interface Bench extends Measurement {
  readonly name: string
  /** Further measurements of the same subject, with `--case NAME`. */
  readonly cases?: Readonly<Record<string, Measurement>>
}
