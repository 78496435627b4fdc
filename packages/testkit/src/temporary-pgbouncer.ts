import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from './temporary-postgres.ts'

/** A PgBouncer of one test's own, in transaction mode. */
export interface TemporaryPgBouncer {
  readonly port: number
  /** The URL of a database on the server, through PgBouncer. */
  through(url: string): string
  stop(): Promise<void>
}

/** Debian's package. */
const PROGRAM = '/usr/sbin/pgbouncer'
const START_ATTEMPTS = 200

export const hasPgBouncer = (): boolean => existsSync(PROGRAM)

/** In front of the server on this port. Few connections to it, so that clients get each other's. */
export async function startTemporaryPgBouncer(server: { readonly port: number }): Promise<TemporaryPgBouncer> {
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'chancery-pgbouncer-'))
  // It refuses to run as root, and gives up root itself.
  const user = process.getuid?.() === 0 ? 'user = postgres' : ''
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(
    file,
    `[databases]
* = user=postgres host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
${user}
pool_mode = transaction
default_pool_size = 8
max_client_conn = 1000
query_wait_timeout = 5
server_login_retry = 1
server_connect_timeout = 2
server_round_robin = 1
log_connections = 0
log_disconnections = 0
`,
  )
  await chmod(folder, 0o755)
  const child: ChildProcess = spawn('setpriv', ['--pdeathsig', 'KILL', PROGRAM, '-q', file], { stdio: 'ignore' })
  const bouncer: TemporaryPgBouncer = {
    port,
    through(url) {
      const other = new URL(url)
      other.hostname = '127.0.0.1'
      other.port = String(port)
      return other.href
    },
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'exit')
        child.kill('SIGKILL')
        await ended
      }
      await rm(folder, { recursive: true, force: true })
    },
  }
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt += 1) {
    if (await isOpen(port)) return bouncer
    await pause(25)
  }
  await bouncer.stop()
  throw new Error('PgBouncer did not start')
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('close', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
