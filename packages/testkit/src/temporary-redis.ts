import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from './temporary-postgres.ts'

const run = promisify(execFile)

/** A Redis server of one test's own, to be stopped, frozen and emptied without hurting anyone. */
export interface TemporaryRedis {
  readonly url: string
  readonly port: number
  start(): Promise<void>
  stop(): Promise<void>
  /** Keeps its connections and answers nothing, as a server that swaps does. */
  freeze(): void
  thaw(): void
  /** Runs one command and gives what it printed. */
  command(...args: readonly string[]): Promise<string>
}

const START_ATTEMPTS = 200

export async function startTemporaryRedis(): Promise<TemporaryRedis> {
  const port = await freePort()
  let server: ChildProcess | undefined
  const command = async (...args: readonly string[]): Promise<string> =>
    (await run('redis-cli', ['-h', '127.0.0.1', '-p', String(port), ...args])).stdout.trim()
  const redis: TemporaryRedis = {
    port,
    url: `redis://127.0.0.1:${port}`,
    command,
    async start() {
      const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
      server = spawn('redis-server', args, { stdio: 'ignore' })
      for (let attempt = 0; attempt < START_ATTEMPTS; attempt += 1) {
        if ((await command('ping').catch(() => '')) === 'PONG') return
        await pause(25)
      }
      throw new Error('Redis did not start')
    },
    async stop() {
      if (server === undefined || server.exitCode !== null || server.signalCode !== null) return
      const ended = once(server, 'exit')
      server.kill('SIGKILL')
      await ended
    },
    freeze: () => void server?.kill('SIGSTOP'),
    thaw: () => void server?.kill('SIGCONT'),
  }
  await redis.start()
  return redis
}
