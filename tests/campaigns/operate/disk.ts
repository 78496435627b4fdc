import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startTemporaryPostgres } from '@chancery/testkit'
import type { AuthorityProcess, TemporaryPostgres, TestDatabase } from '@chancery/testkit'
import pg from 'pg'
import { checkPromises } from '../faults/fault-checks.ts'
import { type FaultInstances, openFaultInstances } from '../faults/fault-instances.ts'
import { FaultRecorder } from '../faults/fault-recorder.ts'
import type { Random } from '../lib/random.ts'
import { withRows } from '../lib/rows.ts'
import { mountSmallDisk, type SmallDisk } from '../lib/small-disk.ts'
import { Alarms } from './alarms.ts'
import {
  authorityTargets,
  doctorOn,
  Findings,
  healthOf,
  readinessNames,
  requireJobsRecover,
  SCRAPES_AFTER,
  WITHOUT_STANDBY,
} from './tools.ts'
import type { OperateCase } from './tools.ts'

const SQLITE_MEGABYTES = 48
/** A new cluster takes 40 MB, its write-ahead log 16 MB more for each segment. */
const POSTGRES_MEGABYTES = 160
/** More than the write-ahead log takes before it is reused (max_wal_size, 1 GB), on any machine. */
const ENLARGED_MEGABYTES = 3000
const NOTICED_SECONDS = 45
/** On PostgreSQL the reserve is tried again about every minute (docs/operate/incidents.md). */
const READY_SECONDS = 90

export const diskFullOnSqlite: OperateCase = {
  name: 'disk full, SQLite',
  async run(random) {
    const disk = await mountSmallDisk(SQLITE_MEGABYTES)
    try {
      const settings = { DB_PATH: join(disk.folder, 'authority.db') }
      const instances = await openFaultInstances({
        databaseUrl: () => '',
        settings: { ...settings, NA_HA_MODE: 'off', RATE_LIMIT_STORE: 'memory' },
        instances: 1,
      })
      const database = { settings, drop: () => Promise.resolve() }
      return await closing(instances, () => fillAndFree({ instances, disk, database, random, kind: 'data' }))
    } finally {
      await disk.remove()
    }
  },
}

export const diskFullOnPostgres: OperateCase = {
  name: 'disk full, PostgreSQL',
  run: (random) => onSmallPostgres(random, 'data'),
}

/** PostgreSQL stops when it cannot create a new segment of the write-ahead log. */
export const logDiskFullOnPostgres: OperateCase = {
  name: 'disk full, PostgreSQL needs a new segment of its log',
  run: (random) => onSmallPostgres(random, 'write-ahead log'),
}

/** Reads each document on each instance before the fault, because an instance serves cached documents. */
const DOCUMENTS = ['/crl', '/genesis']

interface FullDisk {
  readonly instances: FaultInstances
  readonly disk: SmallDisk
  readonly database: TestDatabase
  readonly random: Random
  readonly kind: 'data' | 'write-ahead log'
  readonly server?: TemporaryPostgres
}

async function onSmallPostgres(random: Random, kind: FullDisk['kind']): Promise<readonly string[]> {
  const disk = await mountSmallDisk(POSTGRES_MEGABYTES)
  try {
    const server = await startTemporaryPostgres(disk.folder)
    try {
      const instances = await openFaultInstances({ databaseUrl: () => server.url, instances: 2 })
      const database = { settings: { DATABASE_URL: server.url }, drop: () => Promise.resolve() }
      return await closing(instances, () => fillAndFree({ instances, disk, database, random, kind, server }))
    } finally {
      await disk.free()
      await server.remove()
    }
  } finally {
    await disk.remove()
  }
}

async function closing<Result>(instances: FaultInstances, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } finally {
    await instances.close()
  }
}

async function fillAndFree(full: FullDisk): Promise<readonly string[]> {
  const { instances, disk, database, random, kind, server } = full
  const findings = new Findings()
  const recorder = new FaultRecorder(instances, random)
  const alarms = await Alarms.open(authorityTargets(instances.processes))
  await recorder.open()
  recorder.start()
  await alarms.scrape(12, 150)
  alarms.expect('before', [])
  for (const process of instances.processes)
    for (const path of DOCUMENTS)
      findings.require((await process.request('GET', path)).status === 200, `GET ${path} failed before the fault`)
  await disk.fill()
  if (kind === 'write-ahead log') await endSegments(full)
  await whileFull(full, findings)
  // 150 seconds of rule time: the longest wait of these alerts is two minutes.
  await alarms.scrape(14, 300)
  const firing = kind === 'data' ? ['ChanceryDiskFull'] : ['ChanceryNotReady']
  const maybe = ['ChanceryDiskFull', 'ChanceryDiskLow', 'ChanceryDiskReserveInUse']
  alarms.expect('while the disk is full', firing, [...WITHOUT_STANDBY, ...maybe])
  await disk.free()
  if (server !== undefined) {
    // What is stored from here on would fill the small disk again.
    await disk.enlarge(ENLARGED_MEGABYTES)
    await startIfEnded(server)
  }
  for (const index of await instances.awaitReady(READY_SECONDS))
    findings.add(`instance ${index + 1} is not ready again ${READY_SECONDS} s after there was room`)
  await requireJobsRecover(instances.processes, findings)
  await requireReserve(instances.processes, findings)
  const acked = recorder.acked
  await alarms.scrape(SCRAPES_AFTER, 60)
  alarms.expect('after there was room', [], WITHOUT_STANDBY)
  await recorder.stop()
  findings.require(recorder.acked > acked, 'nothing was stored after there was room')
  findings.require(
    (await doctorOn(instances, 'database-writes')) === 'good',
    'doctor does not say that writes work again',
  )
  const promises = await withRows(database, (rows) => checkPromises(instances, recorder, rows))
  return [...findings.violations, ...promises, ...(await alarms.verdict())]
}

/** Until then decisions are refused, and ChanceryDiskReserveInUse says so. */
async function requireReserve(processes: readonly AuthorityProcess[], findings: Findings): Promise<void> {
  for (const [index, process] of processes.entries())
    await findings.until(`instance ${index + 1}: the disk reserve is held again`, READY_SECONDS, async () => {
      const { status, text } = await process.request('GET', '/metrics')
      return status === 200 && /^chancery_disk_reserve_released(\{[^}]*\})? 0$/m.test(text)
    })
}

async function whileFull({ instances, disk, kind }: FullDisk, findings: Findings): Promise<void> {
  const reason = kind === 'data' ? 'disk_full' : 'database_unavailable'
  for (const [index, process] of instances.processes.entries()) {
    const name = `instance ${index + 1}`
    await findings.until(`${name} says ${reason} in /readyz and unhealthy in /health`, NOTICED_SECONDS, async () => {
      // Space that the authority releases from its reserve is taken, too: with it the instance is ready again.
      await disk.fill()
      if (!(await readinessNames(process, 'reasons', reason))) return false
      const { status, reasons } = await healthOf(process)
      return status === 'unhealthy' && reasons.includes('not_ready')
    })
    for (const path of ['/healthz', ...DOCUMENTS]) {
      const answer = await process.request('GET', path)
      findings.require(answer.status === 200, `${name} answered ${answer.status} to GET ${path}`)
    }
  }
  if (kind === 'data')
    await findings.until('doctor says that the disk is full', NOTICED_SECONDS, async () => {
      await disk.fill()
      return (await doctorOn(instances, 'database-writes')) === 'bad'
    })
}

/** Writes until the server stops because it cannot create a segment. */
async function endSegments({ server }: FullDisk): Promise<void> {
  for (let tries = 0; tries < 100 && server !== undefined; tries += 1) {
    const client = new pg.Client({ connectionString: server.url, connectionTimeoutMillis: 5000 })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query('select pg_switch_wal()')
      await client.query('create table if not exists segments (n int); insert into segments values (1)')
    } catch (error) {
      if (error instanceof Error && 'code' in error && /^(ECONNREFUSED|57P0\d)$/.test(String(error.code))) return
    } finally {
      await client.end().catch(() => undefined)
    }
    await pause(50)
  }
}

/** Restarts the server like an operator. */
async function startIfEnded(server: TemporaryPostgres): Promise<void> {
  for (let tries = 0; tries < 20; tries += 1) {
    const client = new pg.Client({ connectionString: server.url, connectionTimeoutMillis: 5000 })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.end()
      return
    } catch {
      await server.start().catch(() => undefined)
    }
    await pause(500)
  }
}
