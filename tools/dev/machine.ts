import { accessSync, constants, existsSync } from 'node:fs'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'

/**
 * What `npm run setup` finds on this machine. Development needs Node.js and SQLite only, and Node.js contains SQLite.
 * All other programs are for tests, so a missing one is reported and stops nothing.
 */

export interface Machine {
  readonly path: string
  readonly postgres: string
  readonly redis: string
  /** Files that tests look for at a fixed place. */
  readonly exists: (file: string) => boolean
}

export interface Part {
  readonly name: string
  readonly isThere: boolean
  /** What runs only with it. */
  readonly neededFor: string
  readonly advice: string
}

type Probe = (machine: Machine) => boolean | Promise<boolean>

const WAIT_MS = 1000

const program =
  (name: string) =>
  ({ path }: Machine): boolean =>
    path.split(delimiter).some((folder) => isProgram(join(folder, name)))
const file =
  (name: string) =>
  ({ exists }: Machine): boolean =>
    exists(name)

const PARTS: readonly (Omit<Part, 'isThere'> & { readonly probe: Probe })[] = [
  {
    name: 'PostgreSQL',
    probe: ({ postgres }) => answers(postgres, 5432),
    neededFor: 'npm run test:database, npm run check',
    advice: 'Install postgresql and trust 127.0.0.1, or set CHANCERY_TEST_POSTGRES. .ci/run does it on Debian.',
  },
  {
    name: 'Redis',
    probe: (machine) => program('redis-server')(machine) && answers(machine.redis, 6379),
    neededFor: 'tests of shared limits in npm test',
    advice: 'Install redis-server and start it on 127.0.0.1:6379.',
  },
  {
    name: 'Chromium',
    probe: file('/usr/bin/chromium'),
    neededFor: 'npm run test:browser, npm run screens, tests of the console',
    advice: 'Install chromium. The tests use /usr/bin/chromium.',
  },
  {
    name: 'NATS',
    probe: program('nats-server'),
    neededFor: 'tests of the audit stream',
    advice: 'Install nats-server.',
  },
  {
    name: 'SoftHSM',
    probe: file('/usr/lib/softhsm/libsofthsm2.so'),
    neededFor: 'tests of keys in a token',
    advice: 'Install softhsm2, opensc and g++, then run npm run build:pkcs11.',
  },
  {
    name: 'Proxies',
    probe: (machine) => ['haproxy', 'nginx', 'caddy'].every((name) => program(name)(machine)),
    neededFor: 'tests behind HAProxy, nginx and Caddy; they are skipped',
    advice: 'Install haproxy, nginx-light and caddy.',
  },
  {
    name: 'promtool',
    probe: program('promtool'),
    neededFor: 'tests of the alert rules; they are skipped',
    advice: 'Install prometheus.',
  },
]

export function thisMachine(env: Readonly<NodeJS.ProcessEnv> = process.env): Machine {
  return {
    path: env['PATH'] ?? '',
    postgres: env['CHANCERY_TEST_POSTGRES'] ?? 'postgresql://127.0.0.1:5432',
    redis: 'redis://127.0.0.1:6379',
    exists: existsSync,
  }
}

/** Returns every optional part. Takes a second at most, because all are probed at the same time. */
export function inspectMachine(machine: Machine): Promise<readonly Part[]> {
  return Promise.all(PARTS.map(async ({ probe, ...part }) => ({ ...part, isThere: await probe(machine) })))
}

/** Returns lines for a person: what was found, then what to do for each missing part. */
export function describeParts(parts: readonly Part[]): readonly string[] {
  const missing = parts.filter(({ isThere }) => !isThere)
  const found = parts.filter(({ isThere }) => isThere).map(({ name }) => name)
  const lines = [`Optional programs found: ${found.join(', ') || 'none'}.`]
  if (missing.length === 0) return [...lines, 'npm run check can run everything.']
  lines.push('Development uses SQLite and needs none of these. Some tests do:')
  for (const { name, neededFor, advice } of missing) lines.push(`- ${name}: ${neededFor}. ${advice}`)
  return lines
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** True when a TCP connection is accepted within a second. */
function answers(address: string, defaultPort: number): Promise<boolean> {
  const url = URL.parse(address)
  if (url === null || url.hostname === '') return Promise.resolve(false)
  return new Promise((resolve) => {
    const socket = connect({ host: url.hostname, port: Number(url.port) || defaultPort })
    const end = (isThere: boolean): void => {
      socket.destroy()
      resolve(isThere)
    }
    socket.setTimeout(WAIT_MS, () => end(false))
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
  })
}
