import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from './temporary-postgres.ts'

/** A NATS server with JetStream of one test's own, to be killed without hurting anyone. */
export interface TemporaryNats {
  readonly url: string
  start(): Promise<void>
  /** kill -9; what it had confirmed must be there after the next start. */
  kill(): Promise<void>
  remove(): Promise<void>
}

const START_ATTEMPTS = 400

export async function startTemporaryNats(): Promise<TemporaryNats> {
  const [port, folder] = [await freePort(), await mkdtemp(join(tmpdir(), 'chancery-nats-'))]
  let server: ChildProcess | undefined
  const nats: TemporaryNats = {
    url: `nats://127.0.0.1:${port}`,
    async start() {
      server = spawn('nats-server', ['-js', '-sd', folder, '-a', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' })
      for (let attempt = 0; attempt < START_ATTEMPTS; attempt += 1) {
        if (await greets(port)) return
        await pause(25)
      }
      throw new Error('NATS did not start')
    },
    async kill() {
      if (server === undefined || server.exitCode !== null || server.signalCode !== null) return
      const ended = once(server, 'exit')
      server.kill('SIGKILL')
      await ended
    },
    async remove() {
      await nats.kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
  await nats.start()
  return nats
}

/** It listens before it is ready; it speaks first when it is. */
async function greets(port: number): Promise<boolean> {
  const socket = createConnection({ host: '127.0.0.1', port })
  try {
    const [chunk] = (await once(socket, 'data', { signal: AbortSignal.timeout(1000) })) as [Buffer]
    return chunk.toString('latin1').startsWith('INFO ')
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
