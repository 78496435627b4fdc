import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A PostgreSQL server of one test's own, to be stopped, killed and started again without hurting anyone. */
export interface TemporaryPostgres {
  readonly url: string
  readonly port: number
  /** `more` are server settings for this run. */
  start(more?: Readonly<Record<string, string>>): Promise<void>
  /** `immediate` is a crash: no checkpoint, recovery at the next start. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>
  /** kill -9 of the server and everything it runs. */
  kill(): Promise<void>
  remove(): Promise<void>
}

/** Follows another server until it is promoted. */
export interface TemporaryStandby extends TemporaryPostgres {
  promote(): Promise<void>
}

/**
 * In `parent`, such as the mount point of a small disk; in the folder for temporary files when it is left out. `within`
 * is a command that runs its programs, such as `ip netns exec NAME`.
 */
export async function startTemporaryPostgres(
  parent: string = tmpdir(),
  within: readonly string[] = [],
): Promise<TemporaryPostgres> {
  const server = await prepareServer(parent, within)
  // Only a crash of the machine would lose the new files, and no test has one.
  await server.run('initdb', [
    '-D',
    server.data,
    '-U',
    'postgres',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--locale=C',
    '--no-sync',
  ])
  await server.start()
  return server
}

/** A streaming copy of a running server; `name` is what the primary may call it in synchronous_standby_names. */
export async function startTemporaryStandby(
  primary: Pick<TemporaryPostgres, 'port'>,
  name: string,
): Promise<TemporaryStandby> {
  const server = await prepareServer()
  const source = `host=127.0.0.1 port=${primary.port} user=postgres application_name=${name}`
  await server.run('pg_basebackup', ['-D', server.data, '-d', source, '-R', '-X', 'stream', '-c', 'fast', '--no-sync'])
  await server.start()
  return {
    ...server,
    promote: async () => {
      await server.run('pg_ctl', ['-D', server.data, '-w', '-t', '30', 'promote'])
    },
  }
}

interface PreparedServer extends TemporaryPostgres {
  readonly data: string
  /** One of the server's programs, as the user it runs as. */
  run(program: string, args: readonly string[]): Promise<unknown>
}

/** A folder and a port; there is no server yet. */
async function prepareServer(parent: string = tmpdir(), within: readonly string[] = []): Promise<PreparedServer> {
  const bin = await findServerPrograms()
  const folder = await mkdtemp(join(parent, 'chancery-pg-'))
  const data = join(folder, 'data')
  const port = await freePort()
  const isRoot = process.getuid?.() === 0
  // The server refuses to run as root; Debian's package brings the user.
  const owner = isRoot ? ['runuser', '-u', 'postgres', '--'] : []
  const asOwner = (program: string, args: readonly string[]): Promise<unknown> => {
    const [first = '', ...rest] = [...within, ...owner, join(bin, program), ...args]
    return run(first, rest)
  }
  if (isRoot) await run('chown', ['postgres', folder])
  const log = join(folder, 'log')
  const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${folder} -c fsync=on`
  const server: PreparedServer = {
    port,
    data,
    url: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    run: asOwner,
    start: async (more = {}) => {
      const extra = Object.entries(more).map(([name, value]) => ` -c ${name}='${value}'`)
      await asOwner('pg_ctl', ['-D', data, '-l', log, '-o', options + extra.join(''), '-w', '-t', '30', 'start'])
    },
    stop: async (mode = 'fast') => {
      await asOwner('pg_ctl', ['-D', data, '-m', mode, '-w', 'stop'])
    },
    kill: async () => {
      const [pid = ''] = (await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n')
      // Halted first, so that it makes no more of them meanwhile.
      process.kill(Number(pid), 'SIGSTOP')
      const children = await listChildren(Number(pid))
      for (const each of [Number(pid), ...children]) endAtOnce(each)
      await awaitEnd([Number(pid), ...children])
      // All processes have ended, but one that is not reaped yet looks alive to the next server.
      for (const left of [join(data, 'postmaster.pid'), join(folder, `.s.PGSQL.${port}.lock`)])
        await rm(left, { force: true })
    },
    remove: async () => {
      await server.stop('immediate').catch(() => undefined)
      await rm(folder, { recursive: true, force: true })
    },
  }
  return server
}

async function listChildren(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text
    .split(' ')
    .filter((each) => each.trim() !== '')
    .map(Number)
}

function endAtOnce(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself meanwhile.
  }
}

async function awaitEnd(pids: readonly number[]): Promise<void> {
  const isGone = (pid: number): boolean => {
    try {
      return /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
    } catch {
      return true
    }
  }
  while (!pids.every((pid) => isGone(pid))) await pause(5)
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
