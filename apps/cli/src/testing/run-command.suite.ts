import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { type Instant, type JsonObject, readJson } from '@chancery/protocol'
import type { Prompts, ProcessContext } from '../context.ts'
import { runProgram } from '../program.ts'

export interface TestContextOptions {
  readonly isTTY?: boolean
  readonly env?: Readonly<Record<string, string>>
  readonly prompts?: Partial<Prompts>
  readonly cwd?: string
  /** What is piped into the program. */
  readonly stdin?: string
  readonly now?: () => Instant
  readonly random?: () => number
  /** Called instead of waiting. */
  readonly sleep?: (ms: number) => Promise<void> | void
  readonly stop?: AbortSignal
}

export interface CommandRun {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** The one document of --json. */
  readonly json: () => JsonObject
  /** The lines of a command that stays. */
  readonly events: () => readonly JsonObject[]
  readonly errorJson: () => JsonObject
}

/** A temporary folder, with a program that runs in it. */
export class TestContext {
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  static async make(): Promise<TestContext> {
    return new TestContext(await mkdtemp(join(tmpdir(), 'chancery-cli-')))
  }

  path(...names: readonly string[]): string {
    return join(this.folder, ...names)
  }

  async run(line: string | readonly string[], options: TestContextOptions = {}): Promise<CommandRun> {
    const [stdin, stdout, stderr] = [stream(options), stream(options), stream(options)]
    stdin.end(options.stdin ?? '')
    const context: ProcessContext = {
      stdin,
      stdout,
      stderr,
      env: options.env ?? {},
      cwd: options.cwd ?? this.folder,
      userHome: this.path('user'),
      now: options.now ?? (() => NOW),
      random: options.random ?? (() => 0.5),
      sleep: async (ms, signal) => {
        if (options.sleep === undefined) throw new Error('unexpected wait')
        if (!signal.aborted) await options.sleep(ms)
      },
      stop: () => options.stop ?? new AbortController().signal,
      prompts: { confirm: unexpected, text: unexpected, secret: unexpected, ...options.prompts },
    }
    const code = await runProgram(
      typeof line === 'string' ? line.split(' ').filter((word) => word !== '') : line,
      context,
    )
    const [out, error] = [drain(stdout), drain(stderr)]
    return {
      code,
      stdout: out,
      stderr: error,
      json: () => parse(out),
      events: () => out.trimEnd().split('\n').map(parse),
      errorJson: () => parse(error),
    }
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true })
  }
}

/** 2030-01-02T03:00:00Z. */
export const NOW = 1_893_553_200_000_000n

function stream(options: TestContextOptions): PassThrough & { isTTY: boolean } {
  return Object.assign(new PassThrough(), { isTTY: options.isTTY === true })
}

export function drain(from: PassThrough): string {
  let out = ''
  // A read gives one chunk, not all of them.
  for (let chunk = from.read() as Buffer | null; chunk !== null; chunk = from.read() as Buffer | null) {
    out += chunk.toString()
  }
  return out
}

function parse(text: string): JsonObject {
  return readJson(text) as JsonObject
}

function unexpected(): Promise<never> {
  throw new Error('unexpected question')
}
