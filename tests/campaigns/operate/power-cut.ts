import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  createTestNetwork,
  EndedAtStartError,
  freePort,
  startAuthorityProcess,
  startTemporaryPostgres,
} from '@chancery/testkit'
import type { AuthorityProcess, TemporaryPostgres, TestNetwork } from '@chancery/testkit'
import { checkPromises } from '../faults/fault-checks.ts'
import { type CheckedInstances, toEnv } from '../faults/fault-instances.ts'
import { FaultRecorder } from '../faults/fault-recorder.ts'
import type { Random } from '../lib/random.ts'
import { withRows } from '../lib/rows.ts'
import { Findings, type OperateCase } from './tools.ts'

const UNIT = join(import.meta.dirname, '../../../deploy/systemd/chancery-authority.service')
/** From the moment at which PostgreSQL accepts connections. */
const SERVES_SECONDS = 30
/** As sysexits.h calls it: EX_CONFIG. */
const WRONG_SETTINGS = 78

export const powerCut: OperateCase = lateDatabase(40)

/** Power is lost: authority and PostgreSQL end at once. The authority starts first, without any person. */
export function lateDatabase(lateSeconds: number): OperateCase {
  return {
    name: `power cut, PostgreSQL starts ${lateSeconds} s late`,
    async run(random) {
      const server = await startTemporaryPostgres()
      const network = await createTestNetwork('POWER-NET')
      const folder = await mkdtemp(join(tmpdir(), 'chancery-power-'))
      const instance = new StartedInstance(network, {
        DATABASE_URL: server.url,
        NA_HIGH_WATER_FILES: [1, 2].map((place) => join(folder, `na-${place}.mark`)).join(','),
        PORT: String(await freePort()),
      })
      try {
        await writeFile(join(folder, 'authority.env'), toEnv({ ...network.settings, ...instance.settings }), {
          mode: 0o600,
        })
        const findings = new Findings()
        const lost = await cutPower({ instance, server, folder, random, findings, lateSeconds })
        await tryWrongSettings(instance, findings)
        return [...findings.violations, ...lost]
      } finally {
        await instance.kill()
        await server.remove()
        await network.remove()
        await rm(folder, { recursive: true, force: true })
      }
    },
  }
}

interface Facts {
  readonly instance: StartedInstance
  readonly server: TemporaryPostgres
  readonly folder: string
  readonly random: Random
  readonly findings: Findings
  readonly lateSeconds: number
}

async function cutPower(facts: Facts): Promise<readonly string[]> {
  const { instance, server, folder, random, findings, lateSeconds } = facts
  await instance.start()
  const instances = instance.alone(folder)
  const recorder = new FaultRecorder(instances, random)
  await recorder.open()
  recorder.start()
  await pause(2000 + random.below(2000))
  await Promise.all([instance.kill(), server.kill()])
  await recorder.stop()
  findings.require(recorder.acks.size > 0, 'nothing was stored before the power cut')
  const { starts } = instance
  const started = instance.start()
  // It may fail before it is awaited below.
  started.catch(() => undefined)
  await pause(lateSeconds * 1000)
  await server.start()
  const up = performance.now()
  await started
  findings.require((await instances.awaitReady(SERVES_SECONDS)).length === 0, 'the authority does not get ready')
  const seconds = (performance.now() - up) / 1000
  findings.require(seconds < SERVES_SECONDS, `it served ${seconds.toFixed(0)} s after PostgreSQL`)
  findings.require(instance.starts === starts + 1, `it was started ${instance.starts - starts} times, and did not wait`)
  const waits = instance.log.filter((line) => line.includes('waiting for the database'))
  findings.require(
    waits.some((line) => line.includes('"cause":"connect ECONNREFUSED')),
    `the log does not say what it waits for and why: ${waits.join(' ').slice(0, 300)}`,
  )
  // Every ten seconds, and with each other cause.
  findings.require(waits.length <= lateSeconds / 10 + 4, `the log says ${waits.length} times that it waits`)
  const { acked } = recorder
  recorder.start()
  await pause(2000)
  await recorder.stop()
  findings.require(recorder.acked > acked, 'nothing was stored after the power cut')
  const database = { settings: { DATABASE_URL: server.url }, drop: () => Promise.resolve() }
  return withRows(database, (rows) => checkPromises(instances, recorder, rows))
}

/** A restart cannot help, so there is none. */
async function tryWrongSettings(instance: StartedInstance, findings: Findings): Promise<void> {
  await instance.kill()
  for (const [name, value] of [
    ['NA_HIGHWATER_FILES', '/var/lib/chancery/authority.mark'],
    ['NA_WORKERS', 'many'],
    ['GENESIS_FILE', '/nowhere/genesis.json'],
  ] as const) {
    const { starts } = instance
    const ended = await instance.start({ [name]: value }).catch((error: unknown) => error)
    const ending = ended instanceof EndedAtStartError ? ended.ending : 'a start'
    findings.require(ending === WRONG_SETTINGS, `${name}=${value} ended with ${ending}`)
    findings.require(instance.starts === starts + 1, `${name}=${value} was started ${instance.starts - starts} times`)
  }
}

/** An authority under the rules of its unit file, which systemd would follow. */
class StartedInstance {
  readonly network: TestNetwork
  readonly settings: Readonly<Record<string, string>>
  starts = 0
  readonly #running: AuthorityProcess[] = []

  constructor(network: TestNetwork, settings: Readonly<Record<string, string>>) {
    this.network = network
    this.settings = {
      NA_HA_MODE: 'on',
      RATE_LIMIT_STORE: 'database',
      NA_DRAIN_SECONDS: '0',
      NA_CLOCK_CHECK: 'off',
      EVIDENCE_STORE: 'on',
      NA_ANCHOR_INTERVAL_SECONDS: '0',
      NA_INSTANCE_ID: 'na1',
      LOG_LEVEL: 'warn',
      ...settings,
    }
  }

  get log(): readonly string[] {
    return this.#running[0]?.log ?? []
  }

  /** Resolves when it serves; rejects with the ending after which systemd starts it no more. */
  async start(more: Readonly<Record<string, string>> = {}): Promise<void> {
    const rules = await readUnit()
    const begun: number[] = []
    for (;;) {
      this.starts += 1
      begun.push(performance.now())
      try {
        this.#running[0] = await startAuthorityProcess({
          network: this.network,
          settings: { ...this.settings, ...more },
        })
        return
      } catch (error) {
        if (!(error instanceof EndedAtStartError) || error.ending === rules.notAfter) throw error
        const recent = begun.filter((at) => performance.now() - at < rules.limitSeconds * 1000)
        if (recent.length >= rules.limitStarts) throw error
        await pause(rules.pauseSeconds * 1000)
      }
    }
  }

  /** kill -9. */
  async kill(): Promise<void> {
    await this.#running.pop()?.kill()
  }

  /** For the checks of several instances: this one, whichever process it is. */
  alone(folder: string): CheckedInstances {
    const running = this.#running
    return {
      network: this.network,
      processes: running,
      envFile: join(folder, 'authority.env'),
      markFile: join(folder, 'na-1.mark'),
      moveClock: () => Promise.reject(new Error('this clock does not move')),
      clockOffsetMs: 0,
      async awaitReady(seconds) {
        const end = performance.now() + seconds * 1000
        while (performance.now() < end) {
          const answer = await running[0]?.request('GET', '/readyz')
          if (answer?.status === 200) return []
          await pause(50)
        }
        return [0]
      },
      close: () => this.kill(),
    }
  }
}

/** What the unit says about another start, with the defaults of systemd. */
async function readUnit() {
  const text = await readFile(UNIT, 'utf8')
  const read = (name: string, otherwise: number): number =>
    Number(new RegExp(`^${name}=(\\d+)$`, 'm').exec(text)?.[1] ?? otherwise)
  return {
    notAfter: read('RestartPreventExitStatus', -1),
    pauseSeconds: read('RestartSec', 0.1),
    limitSeconds: read('StartLimitIntervalSec', 10),
    limitStarts: read('StartLimitBurst', 5),
  }
}
