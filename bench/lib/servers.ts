import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { LIMITERS } from '@chancery/contract'
import { freePort } from '@chancery/testkit'
import type { BaselineTask } from './baseline-task.ts'
import type { BenchOptions } from './bench.ts'
import type { Cleanup } from './cleanup.ts'
import { HOST, RAISED_LIMIT } from './conditions.ts'
import { createPostgres, type Database } from './databases.ts'
import { type BenchNetwork, createNetwork } from './network.ts'

const START_SECONDS = 60
const STOP_SECONDS = 10

export interface Server {
  readonly pid: number
  readonly port: number
}

interface OpenedAuthority {
  readonly network: BenchNetwork
  readonly database: Database
  /** The first of the processes. */
  readonly server: WatchedServer
  readonly processes: readonly WatchedServer[]
}

/** Authority processes of a new network on one database: one process on a new PostgreSQL database unless said. */
export async function openAuthority(
  { cleanup, directory, profileDirectory }: Pick<BenchOptions, 'cleanup' | 'directory' | 'profileDirectory'>,
  wanted: { readonly processes?: number; readonly settings?: NodeJS.ProcessEnv; readonly database?: Database } = {},
): Promise<OpenedAuthority> {
  const { processes: count = 1, settings = {}, database = await createPostgres(cleanup) } = wanted
  const network = await createNetwork(directory)
  const start = (): Promise<WatchedServer> => startAuthority({ network, database, profileDirectory, settings }, cleanup)
  const server = await start()
  const processes = [server]
  while (processes.length < count) processes.push(await start())
  return { network, database, server, processes }
}

/** A production authority in its own process, ready to serve. */
export async function startAuthority(
  facts: {
    readonly network: BenchNetwork
    readonly database: Database
    readonly profileDirectory: string | undefined
    readonly settings?: NodeJS.ProcessEnv
  },
  cleanup: Cleanup,
): Promise<WatchedServer> {
  const { network, database, profileDirectory } = facts
  const { keyId, publicKey } = network.operator
  const port = await freePort()
  const limits = Object.values(LIMITERS).map(({ setting }) => [setting, String(RAISED_LIMIT)] as const)
  const env = {
    ...Object.fromEntries(limits),
    NODE_ENV: 'production',
    LOG_LEVEL: 'warn',
    LOG_FORMAT: 'json',
    RATE_LIMIT_STORE: 'memory',
    GENESIS_FILE: network.genesisFile,
    NA_PRIVATE_KEY_FILE: network.privateKeyFile,
    DATABASE_URL: database.url,
    OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify({ [keyId]: publicKey }),
    OPERATOR_KEY_TIERS_JSON: JSON.stringify({ [keyId]: 'privileged' }),
    HOST,
    PORT: String(port),
    ...facts.settings,
  }
  const execArgv = [...process.execArgv, ...profileArguments(profileDirectory)]
  return watched(await startChild('start-authority.ts', { args: [], env, execArgv }, port, cleanup))
}

function profileArguments(directory: string | undefined): string[] {
  return directory === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${directory}`]
}

/** The framework with bare handlers, in its own process. */
export async function startBaseline(task: Omit<BaselineTask, 'port'>, cleanup: Cleanup): Promise<Server> {
  const port = await freePort()
  const args = [JSON.stringify({ ...task, port })]
  const env = { NODE_ENV: 'production' }
  return startProcess('baseline-server.ts', { args, env, execArgv: process.execArgv }, port, cleanup)
}

/** The framework reading a body with the strict reader and sending it back. */
export async function startEcho(cleanup: Cleanup): Promise<Server> {
  const port = await freePort()
  const env = { NODE_ENV: 'production' }
  return startProcess(
    'echo-server.ts',
    { args: [JSON.stringify({ port })], env, execArgv: process.execArgv },
    port,
    cleanup,
  )
}

/** In milliseconds: by the clock, and by the processor time of the thread itself; see start-gateway.ts. */
export interface LoopBlock {
  readonly clockMs: number
  readonly ownMs: number
}

interface WatchedServer extends Server {
  /** Longest block of the event loop since the last call. The first call only starts the measurement. */
  blocked(): Promise<LoopBlock>
}

/**
 * A production gateway in its own process. Its audit lines are discarded, because otherwise a terminal would be
 * measured.
 */
export async function startGateway(
  settings: NodeJS.ProcessEnv,
  cleanup: Cleanup,
  profileDirectory?: string,
): Promise<WatchedServer> {
  const port = await freePort()
  const env = { ...settings, GATEWAY_ADDR: `${HOST}:${port}` }
  const execArgv = [...process.execArgv, ...profileArguments(profileDirectory)]
  const options = { args: [], env, execArgv, isSilent: true, health: '/health' }
  return watched(await startChild('start-gateway.ts', options, port, cleanup))
}

function watched({ child, ...server }: Server & { readonly child: ChildProcess }): WatchedServer {
  return {
    ...server,
    async blocked() {
      const reply = once(child, 'message')
      child.send('held')
      const [blocked] = (await reply) as [LoopBlock]
      return blocked
    },
  }
}

interface ProcessOptions {
  readonly args: string[]
  readonly env: NodeJS.ProcessEnv
  readonly execArgv: string[]
  readonly isSilent?: boolean
  readonly health?: string
}

async function startProcess(file: string, options: ProcessOptions, port: number, cleanup: Cleanup): Promise<Server> {
  const { pid } = await startChild(file, options, port, cleanup)
  return { pid, port }
}

async function startChild(
  file: string,
  options: ProcessOptions,
  port: number,
  cleanup: Cleanup,
): Promise<Server & { readonly child: ChildProcess }> {
  const { args, env, execArgv, isSilent = false, health = '/healthz' } = options
  // Output of the child goes to stderr, because the last line of stdout is the result.
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    env,
    execArgv,
    stdio: ['ignore', isSilent ? 'ignore' : process.stderr, process.stderr, 'ipc'],
  })
  cleanup.add(() => stop(child))
  await awaitHealthy(child, port, { file, health })
  return { pid: child.pid ?? 0, port, child }
}

async function awaitHealthy(
  child: ChildProcess,
  port: number,
  { file, health }: { readonly file: string; readonly health: string },
): Promise<void> {
  const deadline = performance.now() + START_SECONDS * 1000
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`${file} ended with ${child.exitCode}`)
    try {
      const answer = await fetch(`http://${HOST}:${port}${health}`)
      await answer.arrayBuffer()
      if (answer.ok) return
    } catch {
      // Not listening yet.
    }
    await pause(50)
  }
  throw new Error(`${file} did not start within ${START_SECONDS} s`)
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const limit = setTimeout(() => child.kill('SIGKILL'), STOP_SECONDS * 1000)
  await exited
  clearTimeout(limit)
}
