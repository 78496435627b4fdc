import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { prepareDatabase } from '@chancery/authority'
import { genesisDigest, HOUR, readGenesisBlock, readJson, writeSortable } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  COMPILE_CACHE,
  createMigratedDatabase,
  createTestNetwork,
  freePort,
  send,
  startTemporaryPostgres,
} from '@chancery/testkit'
import type { TestNetwork } from '@chancery/testkit'
import pg from 'pg'
import { seedCertificates, seededCertificateId } from '../../tools/seed-certificates.ts'
import { toEnv } from '../faults/fault-instances.ts'
import { CLI } from '../lib/command.ts'

const START_SECONDS = 120
const STOP_SECONDS = 60
const LOG_BYTES = 20_000

/** `chancery authority start --env-file FILE`, as an operator runs it. */
interface CommandAuthority {
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly isRunning: boolean
  /** The end of its log. */
  readonly log: string
  /** SIGTERM, as a service manager does; returns the exit code or the signal. */
  stop(): Promise<number | string>
}

async function startCommandAuthority(
  folder: string,
  settings: Readonly<Record<string, string>>,
): Promise<CommandAuthority> {
  const port = await freePort()
  const file = join(folder, 'authority.env')
  await writeFile(file, toEnv({ ...settings, HOST: '127.0.0.1', PORT: String(port) }), { mode: 0o600 })
  const args = ['--conditions=development', CLI, 'authority', 'start', '--env-file', file]
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

const MODES = {
  /** Every heartbeat is committed before its answer. */
  strict: {},
  /** Heartbeats are stored once a second. */
  gathered: { NA_HEARTBEAT_MODE: 'gathered' },
} as const
type FleetMode = keyof typeof MODES

export interface FleetPlan {
  readonly nodes: number
  /** The last of them, which send nothing. */
  readonly silent: number
  readonly seed: string
  readonly mode: FleetMode
  readonly paceSeconds: number
  /** Worker processes of the authority. */
  readonly workers: number
}

const REDIS = process.env['CHANCERY_TEST_REDIS'] ?? 'redis://127.0.0.1:6379'
/** Smaller fleets use the server of the tests: a separate one takes seconds to start. */
const OWN_SERVER_NODES = 5000
/** As docs/operate/workers.md says for large fleets. Everything else is as installed. */
const SERVER_SETTINGS = {
  shared_buffers: '512MB',
  checkpoint_timeout: '30min',
  max_wal_size: '8GB',
  wal_compression: 'lz4',
}

/** A filled database with an authority on it. */
export interface Site {
  readonly network: TestNetwork
  readonly authority: CommandAuthority
  readonly genesisDigest: string
  /** A connection to the database of the authority. */
  readonly client: pg.Client
  readonly filledAtMs: number
  readonly fillSeconds: number
  readonly databaseMegabytes: number
  close(): Promise<void>
}

export async function openSite(plan: FleetPlan, log: (line: string) => void): Promise<Site> {
  const undo: (() => Promise<unknown>)[] = []
  const close = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step()
  }
  try {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-fleet-'))
    undo.push(() => rm(folder, { recursive: true, force: true }))
    const network = await createTestNetwork('FLEET-NET')
    undo.push(() => network.remove())
    const url = await createDatabase(plan, undo)
    const client = new pg.Client({ connectionString: url, application_name: 'campaign' })
    // The server may be gone before the connection at the end.
    client.on('error', () => undefined)
    await client.connect()
    undo.push(() => client.end())
    const filled = await fill(plan, url, network, client, log)
    const authority = await startCommandAuthority(folder, {
      ...network.settings,
      DATABASE_URL: url,
      ...(plan.workers > 1 ? { RATE_LIMIT_STORE: 'redis', REDIS_URL: REDIS } : { RATE_LIMIT_STORE: 'memory' }),
      NA_HEARTBEAT_SECONDS: String(plan.paceSeconds),
      NA_PROXY_HOPS: '1',
      NA_CLOCK_CHECK: 'off',
      NA_WORKERS: String(plan.workers),
      // Says when each worker serves.
      LOG_LEVEL: 'info',
      ...MODES[plan.mode],
    })
    undo.push(async () => {
      if (authority.isRunning) await authority.stop()
    })
    const block = readGenesisBlock(readJson(await readFile(network.settings['GENESIS_FILE'] ?? '', 'utf8')))
    return { network, authority, client, genesisDigest: genesisDigest(block), ...filled, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function createDatabase({ nodes }: FleetPlan, undo: (() => Promise<unknown>)[]): Promise<string> {
  if (nodes < OWN_SERVER_NODES) {
    const database = await createMigratedDatabase('postgres')
    undo.push(() => database.drop())
    return database.settings['DATABASE_URL'] ?? ''
  }
  const server = await startTemporaryPostgres()
  undo.push(() => server.remove())
  await server.stop()
  await server.start(SERVER_SETTINGS)
  return server.url
}

async function fill(
  { nodes, silent, seed }: FleetPlan,
  url: string,
  network: TestNetwork,
  client: pg.Client,
  log: (line: string) => void,
): Promise<Pick<Site, 'filledAtMs' | 'fillSeconds' | 'databaseMegabytes'>> {
  await prepareDatabase({ kind: 'postgres', url }, () => systemClock.now())
  const started = performance.now()
  const at = systemClock.now()
  await seedCertificates({ database: url, count: nodes, seed, network: network.name, fleet: true, at, log })
  const ids = Array.from({ length: silent }, (_, offset) => seededCertificateId(seed, nodes - silent + offset))
  // Marked, as the authority marks silent nodes of a large network.
  await client.query(
    'update node_liveness set last_heartbeat = $2, silent_since = $2 where cert_id = any($1::text[])',
    [ids, writeSortable(systemClock.now() - HOUR)],
  )
  if (nodes >= OWN_SERVER_NODES) await client.query('checkpoint')
  const fillSeconds = (performance.now() - started) / 1000
  const { rows } = await client.query<{ readonly bytes: string }>(
    'select pg_database_size(current_database())::text as bytes',
  )
  const databaseMegabytes = Number(rows[0]?.bytes ?? Number.NaN) / 1e6
  log(`${nodes} certificates in ${fillSeconds.toFixed(1)} s, database of ${databaseMegabytes.toFixed(0)} MB`)
  return { filledAtMs: Number(at / 1000n), fillSeconds, databaseMegabytes }
}
