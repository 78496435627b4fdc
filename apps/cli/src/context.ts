import type { Readable } from 'node:stream'
import type { Command } from '@chancery/contract'
import type { Instant, JsonObject } from '@chancery/protocol'
import type { Arguments, Options } from './options.ts'
import type { RawOutput } from './output/screen.ts'
import type { Style } from './output/style.ts'

export type Input = Readable & { readonly isTTY?: boolean }
/** Where all output of a command goes; see output/screen.ts. */
export interface Output {
  readonly isTTY: boolean
  readonly columns: number | undefined
  /** False when the reader is behind; {@link Output.drained} waits for it. */
  write(text: string): boolean
  drained(): Promise<void>
}

/** Questions to a person. Only used when somebody sits at a terminal. */
export interface Prompts {
  /** Gives false for no; throws {@link Failure} when the person leaves. */
  confirm(question: string): Promise<boolean>
  /** `check` gives what is wrong with an answer, or undefined. */
  text(question: string, initial: string, check: (answer: string) => string | undefined): Promise<string>
  /** What is typed is not shown. */
  secret(question: string): Promise<string>
}

/** Everything of the outside world a run may touch, so that a test can be that world. */
export interface Context {
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** The home folder of the user. */
  readonly userHome: string
  readonly now: () => Instant
  /** From 0 up to 1, for spreading; nothing secret is made of it. */
  readonly random: () => number
  /** Waits, or ends early when the signal aborts. Never rejects. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** Aborts when the program is told to stop. Asking takes the first signal away from the system's own handling. */
  readonly stop: () => AbortSignal
  readonly prompts: Prompts
}

/** What the process gives to a run. */
export type Surroundings = Omit<Context, 'stdout' | 'stderr'> & {
  readonly stdout: RawOutput
  readonly stderr: RawOutput
}

/** The same with what the command line said for every command. */
export interface CommandContext extends Context {
  readonly command: Command
  readonly json: boolean
  /** Whether questions can be asked: a person reads and types. */
  readonly isInteractive: boolean
  readonly style: Style
  /** A remark on standard error; silent with --quiet. */
  readonly note: (text: string) => void
  /** Shown while something lasts; see output/progress.ts. */
  readonly showProgress: boolean
}

/** What a command has to say: data for programs, text for people, and how it ended. */
export interface Result {
  readonly data?: JsonObject
  readonly text?: string
  /** 0 unless given: 1 when the answer is "no", as for a block that does not verify. */
  readonly exitCode?: number
}

export type Run = (context: CommandContext, args: Arguments, options: Options) => Promise<Result>
