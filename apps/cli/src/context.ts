import type { Readable } from 'node:stream'
import type { Command } from '@chancery/contract'
import type { Instant } from '@chancery/protocol'
import type { Arguments, Options } from './arguments/options.ts'
import type { Output, RawOutput, Result, Style } from './output/screen.ts'

export type Input = Readable & { readonly isTTY?: boolean }

/** Asks a person at a terminal. */
export interface Prompts {
  /** Returns false for no; throws CommandError when the person cancels. */
  confirm(question: string): Promise<boolean>
  /** `check` returns the problem of an input, or undefined. */
  text(question: string, initial: string, check: (answer: string) => string | undefined): Promise<string>
  /** The input is not shown. */
  secret(question: string): Promise<string>
}

/** All inputs and outputs of a run, so that a test can replace them. */
export interface Context {
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** The home folder of the user. */
  readonly userHome: string
  readonly now: () => Instant
  /** A random number from 0 up to 1, for spreading delays; not for secrets. */
  readonly random: () => number
  /** Waits, or ends early when the signal aborts. Never rejects. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** Returns a signal that aborts when the process is stopped. Calling it replaces the default handling of the first signal. */
  readonly stop: () => AbortSignal
  readonly prompts: Prompts
}

/** Inputs that the process gives to a run. */
export type ProcessContext = Omit<Context, 'stdout' | 'stderr'> & {
  readonly stdout: RawOutput
  readonly stderr: RawOutput
}

/** Context of a command, with the global options. */
export interface CommandContext extends Context {
  readonly command: Command
  readonly json: boolean
  /** True when a person can answer a prompt. */
  readonly isInteractive: boolean
  readonly style: Style
  /** Prints a remark to standard error, except with --quiet. */
  readonly note: (text: string) => void
  /** Returns a command as a hint that works as printed: for the network and the key that this command was given. */
  readonly again: (line: string) => string
  /** Progress of a long operation; see output/screen.ts. */
  readonly showProgress: boolean
}

export type Run = (context: CommandContext, args: Arguments, options: Options) => Promise<Result>
