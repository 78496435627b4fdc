import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { systemClock } from '@chancery/service-kit'
import { type SendOptions, type TestResponse, operatorCaller, send } from './callers.ts'
import { COMPILE_CACHE } from './compile-cache.ts'
import type { TestNetwork } from './test-network.ts'
import { freePort } from './temporary-postgres.ts'

export interface ProcessOptions {
  readonly network: TestNetwork
  /** DB_PATH or DATABASE_URL, and whatever else differs from the network's settings. */
  readonly settings: Readonly<Record<string, string>>
  readonly execArgv?: readonly string[]
}

/** Starts an authority from sources in a separate process, which a test can kill. */
export interface AuthorityProcess {
  readonly url: string
  readonly pid: number
  /** What it wrote to its log, newest last; the oldest lines go. */
  readonly log: readonly string[]
  /** Resolves with the signal or exit code. */
  readonly exited: Promise<string | number>
  request(method: string, target: string, options?: SendOptions): Promise<TestResponse>
  as(name: 'privileged' | 'standard'): ReturnType<typeof operatorCaller>
  /** kill -9. */
  kill(): Promise<void>
  /** As a balancer would: SIGTERM, and kill -9 when that takes too long. */
  stop(): Promise<void>
}

/** It was gone before it served: `ending` is the signal or exit code. */
export class EndedAtStartError extends Error {
  override readonly name = 'EndedAtStartError'
  readonly ending: string | number

  constructor(ending: string | number, log: readonly string[]) {
    super(`the authority ended at its start with ${ending}: ${log.join('\n')}`)
    this.ending = ending
  }
}

const START_SECONDS = 120
const STOP_SECONDS = 15
const LOG_LINES = 200

/** At a port that was free a moment ago; when another server took it meanwhile, at the next one. */
export async function startAuthorityProcess(options: ProcessOptions): Promise<AuthorityProcess> {
  const given = options.settings['PORT']
  if (given !== undefined) return startAt(given, options)
  for (let tries = 1; ; tries += 1) {
    try {
      return await startAt(String(await freePort()), options)
    } catch (error) {
      const isTaken = error instanceof EndedAtStartError && /PORT: \d+ is in use/.test(error.message)
      if (!isTaken || tries === 3) throw error
    }
  }
}

async function startAt(port: string, { network, settings, execArgv = [] }: ProcessOptions): Promise<AuthorityProcess> {
  const url = `http://127.0.0.1:${port}`
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const child = fork(fileURLToPath(new URL(`authority-process-main.${extension}`, import.meta.url)), [], {
    env: { ...COMPILE_CACHE, ...network.settings, HOST: '127.0.0.1', ...settings, PORT: port },
    execArgv: ['--conditions=development', ...execArgv],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const log = recordLog(child)
  const exited = once(child, 'exit').then(([code, signal]) => (signal as string | null) ?? (code as number))
  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    child.kill(signal)
    const limit = setTimeout(() => child.kill('SIGKILL'), STOP_SECONDS * 1000)
    await exited
    clearTimeout(limit)
  }
  await awaitHealthy(child, url, log)
  return {
    url,
    pid: child.pid ?? 0,
    log,
    exited,
    request: (method, target, options) => send(url, method, target, options),
    as: (name) => operatorCaller(url, network.operators[name], network.authority.publicKey, () => systemClock.now()),
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  }
}

function recordLog(child: ChildProcess): string[] {
  const lines: string[] = []
  const keep = (chunk: Buffer): void => {
    lines.push(
      ...chunk
        .toString('utf8')
        .split('\n')
        .filter((line) => line !== ''),
    )
    lines.splice(0, Math.max(0, lines.length - LOG_LINES))
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  return lines
}

async function awaitHealthy(child: ChildProcess, url: string, log: readonly string[]): Promise<void> {
  const deadline = performance.now() + START_SECONDS * 1000
  let isListening = false
  child.once('message', () => {
    isListening = true
  })
  while (performance.now() < deadline) {
    const ending = child.signalCode ?? child.exitCode
    if (ending !== null) throw new EndedAtStartError(ending, log)
    // Before that another server responds at this port.
    const answer = isListening ? await send(url, 'GET', '/healthz').catch(() => undefined) : undefined
    if (answer?.status === 200) return
    await pause(25)
  }
  child.kill('SIGKILL')
  throw new Error(`the authority did not start within ${START_SECONDS} s: ${log.join('\n')}`)
}
