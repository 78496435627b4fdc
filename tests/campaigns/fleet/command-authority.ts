import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { COMPILE_CACHE, freePort, send } from '@chancery/testkit'
import { toEnv } from '../faults/fault-instances.ts'

const MAIN = join(import.meta.dirname, '..', '..', '..', 'apps', 'cli', 'src', 'main.ts')
const START_SECONDS = 120
const STOP_SECONDS = 60
const LOG_BYTES = 20_000

/** `chancery authority start --env-file FILE`, as an operator runs it. */
export interface CommandAuthority {
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly isRunning: boolean
  /** The end of its log. */
  readonly log: string
  /** SIGTERM, as a service manager does; returns the exit code or the signal. */
  stop(): Promise<number | string>
}

export async function startCommandAuthority(
  folder: string,
  settings: Readonly<Record<string, string>>,
): Promise<CommandAuthority> {
  const port = await freePort()
  const file = join(folder, 'authority.env')
  await writeFile(file, toEnv({ ...settings, HOST: '127.0.0.1', PORT: String(port) }), { mode: 0o600 })
  const args = ['--conditions=development', MAIN, 'authority', 'start', '--env-file', file]
  const env = { ...COMPILE_CACHE, NODE_ENV: 'production' }
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const end = (): boolean => child.kill('SIGKILL')
  process.once('exit', end)
  let log = ''
  const keep = (chunk: Buffer): void => {
    log = (log + chunk.toString('utf8')).slice(-LOG_BYTES)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  const exited = once(child, 'exit').then(([code, signal]) => (code as number | null) ?? (signal as string))
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null
  const url = `http://127.0.0.1:${port}`
  const deadline = performance.now() + START_SECONDS * 1000
  const workers = Number(settings['NA_WORKERS'] ?? 1)
  // The first worker starts alone. A connection opened before the others serve would stay with it.
  const areAllServing = (): boolean => workers === 1 || log.split('"worker serves"').length > workers
  while (!areAllServing() || (await send(url, 'GET', '/readyz').catch(() => undefined))?.status !== 200) {
    if (!isRunning()) throw new Error(`the authority ended at its start: ${log}`)
    if (performance.now() > deadline) {
      end()
      throw new Error(`the authority did not start within ${START_SECONDS} s: ${log}`)
    }
    await pause(25)
  }
  return {
    url,
    port,
    pid: child.pid ?? 0,
    get isRunning() {
      return isRunning()
    },
    get log() {
      return log
    },
    async stop() {
      process.off('exit', end)
      child.kill('SIGTERM')
      const limit = setTimeout(end, STOP_SECONDS * 1000)
      const ending = await exited
      clearTimeout(limit)
      return ending
    },
  }
}
