import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type AuthorityProcess, type TestNetwork, createTestNetwork, startAuthorityProcess } from '@chancery/testkit'

/** Three instances of one authority in HA mode, as separate processes that can be cut off, paused and killed. */
export interface FaultInstances {
  readonly network: TestNetwork
  readonly processes: readonly AuthorityProcess[]
  /** Settings for commands on the authority's machine. */
  readonly envFile: string
  /** One of the two high-water mark files. */
  readonly markFile: string
  /** The offset of the clocks, for another process that follows them. */
  readonly clockFile: string
  /** Moves the clocks of all instances; resolves when all have the new time. */
  moveClock(ms: number): Promise<void>
  /** Current offset of the clocks. */
  readonly clockOffsetMs: number
  /** Returns the instances that are not ready, or do not report the expected value, within the time. */
  awaitReady(seconds: number, wanted?: 200 | 503): Promise<readonly number[]>
  close(): Promise<void>
}

/** What the checks use: a clock that cannot be moved has no file. */
export type CheckedInstances = Omit<FaultInstances, 'clockFile'>

export interface InstancesOptions {
  /** Database URL of each instance, so that each can have its own proxy. Empty when `settings` name an SQLite file. */
  readonly databaseUrl: (index: number) => string
  /** Database URL for commands; by default that of the first instance. */
  readonly directUrl?: string
  readonly settings?: Readonly<Record<string, string>>
  /** Additional settings of single instances. */
  readonly settingsOf?: (index: number) => Readonly<Record<string, string>>
  readonly instances?: number
}

const SETTINGS = {
  NA_HA_MODE: 'on',
  RATE_LIMIT_STORE: 'database',
  NA_DRAIN_SECONDS: '0',
  NA_CLOCK_CHECK: 'off',
  EVIDENCE_STORE: 'on',
  NA_ANCHOR_INTERVAL_SECONDS: '0',
  // The campaign causes alarms, so only fatal events are printed.
  LOG_LEVEL: 'fatal',
}
const MOVED_CLOCK = new URL('../lib/moved-clock.ts', import.meta.url).href
/** Twice the interval of the checks of an instance. */
const CLOCK_SETTLES_MS = 60

// oxlint-disable-next-line max-lines-per-function -- the operations share the state of the instances
export async function openFaultInstances(options: InstancesOptions): Promise<FaultInstances> {
  const network = await createTestNetwork('FAULT-NET')
  const folder = await mkdtemp(join(tmpdir(), 'chancery-instances-'))
  const clockFile = join(folder, 'clock')
  await writeFile(clockFile, '0')
  const settingsOf = (index: number): Readonly<Record<string, string>> => ({
    ...SETTINGS,
    ...options.settings,
    ...locationAt(options.databaseUrl(index)),
    NA_INSTANCE_ID: `na${index + 1}`,
    // One shared folder: the last writer has the highest mark.
    NA_HIGH_WATER_FILES: [1, 2].map((place) => join(folder, `na-${place}.mark`)).join(','),
    CHANCERY_MOVED_CLOCK_FILE: clockFile,
    ...options.settingsOf?.(index),
  })
  const processes: AuthorityProcess[] = []
  let offset = 0
  const instances: FaultInstances = {
    network,
    processes,
    envFile: join(folder, 'authority.env'),
    markFile: join(folder, 'na-1.mark'),
    clockFile,
    get clockOffsetMs() {
      return offset
    },
    async moveClock(ms) {
      offset = ms
      await writeFile(clockFile, String(ms))
      await pause(CLOCK_SETTLES_MS)
    },
    async awaitReady(seconds, wanted = 200) {
      const end = performance.now() + seconds * 1000
      let behind = processes.map((_, index) => index)
      while (behind.length > 0 && performance.now() < end) {
        const statuses = await Promise.all(
          behind.map(
            async (index) => (await processes[index]?.request('GET', '/readyz').catch(() => undefined))?.status,
          ),
        )
        behind = behind.filter((_, at) => statuses[at] !== wanted)
        if (behind.length > 0) await pause(25)
      }
      return behind
    },
    async close() {
      for (const each of processes) await each.kill()
      await rm(folder, { recursive: true, force: true })
      await network.remove()
    },
  }
  const { CHANCERY_MOVED_CLOCK_FILE: _clock, ...forCommands } = settingsOf(0)
  const direct = options.directUrl ?? options.databaseUrl(0)
  await writeFile(instances.envFile, toEnv({ ...network.settings, ...forCommands, ...locationAt(direct) }), {
    mode: 0o600,
  })
  try {
    // Starts one after the other, because the first one migrates.
    for (let index = 0; index < (options.instances ?? 3); index += 1)
      processes.push(
        await startAuthorityProcess({
          network,
          settings: settingsOf(index),
          execArgv: ['--import', MOVED_CLOCK],
        }),
      )
    return instances
  } catch (error) {
    await instances.close()
    throw error
  }
}

function locationAt(url: string): Readonly<Record<string, string>> {
  return url === '' ? {} : { DATABASE_URL: url }
}

export function toEnv(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}
