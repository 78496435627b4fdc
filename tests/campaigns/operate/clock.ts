import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seconds, writeSortable } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { checkPromises } from '../faults/fault-checks.ts'
import { type FaultInstances, openFaultInstances } from '../faults/fault-instances.ts'
import { FaultRecorder } from '../faults/fault-recorder.ts'
import { tryCommand } from '../lib/command.ts'
import { startOwnServer } from '../lib/private-postgres.ts'
import type { Random } from '../lib/random.ts'
import { text, withRows } from '../lib/rows.ts'
import { Alarms } from './alarms.ts'
import {
  authorityTargets,
  doctorOn,
  Findings,
  healthOf,
  readinessNames,
  SCRAPES_AFTER,
  WITHOUT_STANDBY,
} from './tools.ts'
import type { OperateCase } from './tools.ts'

const MOVED_CLOCK = new URL('../lib/moved-clock.ts', import.meta.url).href
const NOTICED_SECONDS = 20
/** An instance compares its clock every 30 seconds. */
const READY_SECONDS = 45

/** One of two instances has a clock offset of 41 seconds or more, ahead or behind. */
export const clockOff: OperateCase = {
  name: 'clock of one instance off',
  async run(random) {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-clock-'))
    const file = join(folder, 'clock')
    await writeFile(file, '0')
    const server = await startOwnServer()
    try {
      const database = await server.createDatabase()
      const url = database.settings['DATABASE_URL'] ?? ''
      const instances = await openFaultInstances({
        databaseUrl: () => url,
        settings: { NA_CLOCK_CHECK: 'on' },
        settingsOf: (index) => (index === 0 ? { CHANCERY_MOVED_CLOCK_FILE: file } : {}),
        instances: 2,
      })
      try {
        return await withRows(database, (rows) => moveAndSetRight({ instances, file, random, rows }))
      } finally {
        await instances.close()
      }
    } finally {
      await server.remove()
      await rm(folder, { recursive: true, force: true })
    }
  },
}

async function moveAndSetRight(facts: {
  readonly instances: FaultInstances
  readonly file: string
  readonly random: Random
  readonly rows: Parameters<typeof checkPromises>[2]
}): Promise<readonly string[]> {
  const { instances, file, random, rows } = facts
  const [wrong, right] = instances.processes
  if (wrong === undefined || right === undefined) throw new Error('two instances are needed')
  const findings = new Findings()
  const offsetMs = (random.chance(50) ? 1 : -1) * (41_000 + random.below(200_000))
  const recorder = new FaultRecorder(instances, random)
  const alarms = await Alarms.open(authorityTargets(instances.processes))
  await recorder.open()
  recorder.start()
  await alarms.scrape(12, 150)
  alarms.expect('before', [])
  await writeFile(file, String(offsetMs))
  await findings.until('the instance says clock_offset', NOTICED_SECONDS, () =>
    readinessNames(wrong, 'reasons', 'clock_offset'),
  )
  const { reasons } = await healthOf(wrong)
  findings.require(reasons.includes('clock_offset'), `/health says ${reasons.join(', ')}`)
  findings.require((await right.request('GET', '/readyz')).status === 200, 'the other instance is not ready')
  findings.require((await doctorAt(instances, offsetMs)) === 'bad', 'doctor does not say that the clock is wrong')
  await alarms.scrape(16, 300)
  alarms.expect('while the clock is off', ['ChanceryClockOff', 'ChanceryNotReady'], WITHOUT_STANDBY)
  findings.violations.push(...(await datedAhead(rows)))
  await writeFile(file, '0')
  for (const index of await instances.awaitReady(READY_SECONDS))
    findings.add(`instance ${index + 1} is not ready ${READY_SECONDS} s after its clock was set right`)
  await alarms.scrape(SCRAPES_AFTER, 60)
  alarms.expect('after the clock is right', [], WITHOUT_STANDBY)
  await recorder.stop()
  findings.require((await doctorOn(instances, 'clock')) === 'good', 'doctor does not say that the clock is right')
  return [...findings.violations, ...(await checkPromises(instances, recorder, rows)), ...(await alarms.verdict())]
}

/** Nothing is signed with a future time. */
async function datedAhead(rows: Parameters<typeof checkPromises>[2]): Promise<string[]> {
  const latest = writeSortable(systemClock.now() + seconds(5))
  const found: string[] = []
  for (const table of ['issued_certs', 'crl_versions']) {
    const [row] = await rows.query(`select max(issued_at) as at from ${table}`)
    if (text(row, 'at') > latest) found.push(`${table} has a record dated ${text(row, 'at')}, which is after ${latest}`)
  }
  return found
}

/** Runs `chancery doctor` on the machine whose clock is wrong. */
async function doctorAt({ envFile }: FaultInstances, offsetMs: number): Promise<string> {
  const settings = { CHANCERY_MOVED_CLOCK_MS: String(offsetMs) }
  const words = ['doctor', '--env-file', envFile, '--json']
  const { stdout, stderr } = await tryCommand(words, { settings, imports: [MOVED_CLOCK] })
  if (!stdout.startsWith('{')) return `no answer: ${stderr.slice(0, 200)}`
  const { findings } = JSON.parse(stdout) as { findings: { check: string; status: string }[] }
  return findings.find(({ check }) => check === 'clock')?.status ?? 'absent'
}
