import { type AuthorityProcess, EndedAtStartError, startAuthorityProcess } from '@chancery/testkit'
import pg from 'pg'
import { checkPromises } from '../faults/fault-checks.ts'
import { type CheckedInstances, type FaultInstances, openFaultInstances } from '../faults/fault-instances.ts'
import { FaultRecorder } from '../faults/fault-recorder.ts'
import { tryCommand } from '../lib/command.ts'
import { startOwnServer } from '../lib/private-postgres.ts'
import type { Random } from '../lib/random.ts'
import { type Rows, text, withRows } from '../lib/rows.ts'
import { Alarms } from './alarms.ts'
import { authorityTarget, authorityTargets, Findings, readinessNames, SCRAPES_AFTER, WITHOUT_STANDBY } from './tools.ts'
import type { OperateCase } from './tools.ts'

const NEXT_RELEASE = new URL('../lib/next-release.ts', import.meta.url).href
/** The releases of next-release-migrations.ts that do not start, and the schema version after the attempt. */
const BROKEN = [
  ['fails at once', 0],
  ['changes a table', 0],
  ['fails at the second', 1],
] as const
const READY_SECONDS = 30

/** Starts a release whose migration fails midway next to two instances under load, then a working one. */
export const brokenUpgrade: OperateCase = {
  name: 'broken schema upgrade',
  async run(random) {
    const server = await startOwnServer()
    try {
      const database = await server.createDatabase()
      const url = database.settings['DATABASE_URL'] ?? ''
      const instances = await openFaultInstances({ databaseUrl: () => url, instances: 2 })
      try {
        return await withRows(database, (rows) => upgrade({ instances, url, rows, random }))
      } finally {
        await instances.close()
      }
    } finally {
      await server.remove()
    }
  },
}

interface Setup {
  readonly instances: FaultInstances
  readonly url: string
  readonly rows: Rows
  readonly random: Random
}

async function upgrade(setup: Setup): Promise<readonly string[]> {
  const { instances, rows, random } = setup
  const findings = new Findings()
  const recorder = new FaultRecorder(instances, random)
  const alarms = await Alarms.open(authorityTargets(instances.processes))
  await recorder.open()
  recorder.start()
  await alarms.scrape(8, 150)
  alarms.expect('before', [])
  let next: AuthorityProcess | undefined
  alarms.add(authorityTarget('na3', () => next))
  const released = await readVersion(rows)
  try {
    for (const [release, left] of BROKEN) {
      const isHeld = release === 'changes a table'
      const letGo = isHeld ? await lockTable(setup.url) : undefined
      await expectRefusedStart(setup, release, findings)
      await letGo?.()
      findings.require(
        (await readVersion(rows)) === released + left,
        `${release}: version ${await readVersion(rows)} is left`,
      )
      findings.require(
        !(await hasTable(rows, 'next_roles')),
        `${release}: a table of the migration that failed is left`,
      )
      for (const index of await instances.awaitReady(5)) findings.add(`${release}: instance ${index + 1} is not ready`)
      requireNoFailures(recorder, release, findings)
    }
    await alarms.scrape(14, 200)
    alarms.expect('while the new release does not start', ['ChanceryInstanceDown'], WITHOUT_STANDBY)
    next = await startNext(setup, 'good')
    await findings.until(
      'the good release is ready',
      READY_SECONDS,
      async () => (await next?.request('GET', '/readyz'))?.status === 200,
    )
    for (const [index, process] of instances.processes.entries())
      findings.require(
        await readinessNames(process, 'warnings', 'newer_schema'),
        `instance ${index + 1} does not warn of the newer schema`,
      )
    await alarms.scrape(SCRAPES_AFTER, 60)
    alarms.expect('after the good release is up', [], WITHOUT_STANDBY)
    await recorder.stop()
    requireNoFailures(recorder, 'with the good release', findings)
    const found = await checkPromises(instances, recorder, rows, inspectNext)
    return [...findings.violations, ...found, ...(await alarms.verdict())]
  } finally {
    await recorder.stop()
    await next?.stop()
  }
}

/** Since the last check. */
function requireNoFailures(recorder: FaultRecorder, when: string, findings: Findings): void {
  const { unavailable, unknown, lastRefusal } = recorder
  const sentence = `${when}: ${unavailable} requests were refused (${lastRefusal}), ${unknown} got no certain answer`
  findings.require(unavailable + unknown === 0, sentence)
  recorder.unavailable = 0
  recorder.unknown = 0
}

async function expectRefusedStart(setup: Setup, release: string, findings: Findings): Promise<void> {
  try {
    const process = await startNext(setup, release)
    await process.stop()
    findings.add(`${release}: the new release started`)
  } catch (error) {
    if (!(error instanceof EndedAtStartError)) throw error
    findings.require(error.ending !== 0, `${release}: the start ended with 0`)
    findings.require(
      /schema version \d+/.test(error.message),
      `${release}: the start does not name the version: ${error.message.slice(0, 400)}`,
    )
  }
}

/** Runs `verify-db` of the new release, because this release does not support a newer schema. */
async function inspectNext({ envFile }: CheckedInstances): Promise<string[]> {
  const settings = { CHANCERY_NEXT_RELEASE: 'good' }
  const words = ['authority', 'verify', '--env-file', envFile]
  const { code, stdout, stderr } = await tryCommand(words, { settings, imports: [NEXT_RELEASE] })
  return code === 0 ? [] : [`verify-db: ${stdout.slice(0, 300)} ${stderr.slice(0, 300)}`]
}

function startNext({ instances, url }: Setup, release: string): Promise<AuthorityProcess> {
  return startAuthorityProcess({
    network: instances.network,
    settings: {
      NA_HA_MODE: 'on',
      RATE_LIMIT_STORE: 'database',
      NA_CLOCK_CHECK: 'off',
      NA_DRAIN_SECONDS: '0',
      EVIDENCE_STORE: 'on',
      NA_ANCHOR_INTERVAL_SECONDS: '0',
      DATABASE_URL: url,
      NA_INSTANCE_ID: 'na3',
      NA_HIGH_WATER_FILES: `${instances.markFile}.3a,${instances.markFile}.3b`,
      CHANCERY_NEXT_RELEASE: release,
    },
    execArgv: ['--import', NEXT_RELEASE],
  })
}

/** A long read of the table. A migration that changes the table waits for it. */
async function lockTable(url: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url, application_name: 'campaign' })
  await client.connect()
  await client.query('begin')
  await client.query('select count(*) from issued_certs')
  return async () => {
    await client.query('rollback')
    await client.end()
  }
}

async function readVersion(rows: Rows): Promise<number> {
  const [row] = await rows.query('select max(version) as version from schema_version')
  return Number(text(row, 'version'))
}

async function hasTable(rows: Rows, name: string): Promise<boolean> {
  return (await rows.query(`select tablename from pg_tables where tablename = '${name}'`)).length > 0
}
