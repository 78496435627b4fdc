import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A PostgreSQL server of one test's own, to be stopped, killed and started again without hurting anyone. */
export interface ThrowawayPostgres {
  readonly url: string
  readonly port: number
  /** `more` are server settings for this run. */
  start(more?: Readonly<Record<string, string>>): Promise<void>
  /** `immediate` is a crash: no checkpoint, recovery at the next start. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>
  remove(): Promise<void>
}

export async function startThrowawayPostgres(): Promise<ThrowawayPostgres> {
  const bin = await findServerPrograms()
  const folder = await mkdtemp(join(tmpdir(), 'chancery-pg-'))
  const data = join(folder, 'data')
  const port = await freePort()
  const isRoot = process.getuid?.() === 0
  // The server refuses to run as root; Debian's package brings the user.
  const asOwner = (program: string, args: readonly string[]): Promise<unknown> =>
    isRoot ? run('runuser', ['-u', 'postgres', '--', join(bin, program), ...args]) : run(join(bin, program), [...args])
  if (isRoot) await run('chown', ['postgres', folder])
  await asOwner('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C'])
  const log = join(folder, 'log')
  const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${folder} -c fsync=on`
  const server: ThrowawayPostgres = {
    port,
    url: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    start: async (more = {}) => {
      const extra = Object.entries(more).map(([name, value]) => ` -c ${name}=${value}`)
      await asOwner('pg_ctl', ['-D', data, '-l', log, '-o', options + extra.join(''), '-w', '-t', '30', 'start'])
    },
    stop: async (mode = 'fast') => {
      await asOwner('pg_ctl', ['-D', data, '-m', mode, '-w', 'stop'])
    },
    remove: async () => {
      await server.stop('immediate').catch(() => undefined)
      await rm(folder, { recursive: true, force: true })
    },
  }
  await server.start()
  return server
}

async function findServerPrograms(): Promise<string> {
  const versions = await readdir('/usr/lib/postgresql')
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0]
  if (newest === undefined) throw new Error('install the server programs: apt-get install -y postgresql')
  return `/usr/lib/postgresql/${newest}/bin`
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() =>
        typeof address === 'object' && address !== null ? resolve(address.port) : reject(new Error('no port')),
      )
    })
  })
}
