import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { readGenesisBlock, readJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { FIRST_KEY, accepted, runTestStep, signSuccession, startTemporaryPostgres } from '@chancery/testkit'
import { StubPartner } from '../../apps/authority/src/features/partners/stub-partner.suite.ts'
import { requestOf } from '../../apps/authority/src/features/partners/partner-calls.suite.ts'
import { type FaultInstances, openFaultInstances } from '../campaigns/faults/fault-instances.ts'
import { openObserved } from './observed-services.ts'
import { Opened, type Outage } from './opened.ts'

const HOUR_MS = 3_600_000
/** Callers read the published documents in between, which are signed again when they are old. */
const STEP_HOURS = 5
const STEP_MS = 4000

/** Lets a day and an hour pass on all instances. */
async function passOneDay(instances: FaultInstances): Promise<void> {
  for (let hours = STEP_HOURS; hours <= 25; hours += STEP_HOURS) {
    await instances.moveClock(hours * HOUR_MS)
    await pause(STEP_MS)
  }
}

/** A partner that was read answers no more for over a day. */
export const silentPartner: Outage = {
  scrapes: 6,
  repeats: 80,
  open: () =>
    Opened.around(async (opened) => {
      const { instances, observed } = await openOne(opened, { NA_PARTNER_ADDRESSES: 'loopback' })
      const [first] = instances.processes
      const partner = await new StubPartner('SILENT', () => systemClock.now()).listen()
      opened.add(() => partner.stop())
      const request = requestOf(partner, { interval_seconds: 60 })
      accepted((await first?.as('privileged')('POST', '/admin/partners', request)) as never, 201)
      accepted((await first?.as('privileged')('POST', `/admin/partners/${partner.name}/pull`, {})) as never)
      return {
        targets: observed.targets,
        async begin() {
          for (const path of partner.answers.keys()) partner.show(path, (_request, response) => response.destroy())
          await passOneDay(instances)
        },
        end: () => Promise.resolve(),
        close: () => opened.close(),
      }
    }),
}

/** A key is announced, and a node that sends heartbeats does not take its block for over a day. */
export const announcedKey: Outage = {
  scrapes: 6,
  repeats: 140,
  open: () =>
    Opened.around(async (opened) => {
      const folder = await mkdtemp(join(tmpdir(), 'chancery-key-'))
      opened.add(() => rm(folder, { recursive: true, force: true }))
      const { instances, observed, url } = await openOne(opened, {})
      const genesis = readGenesisBlock(
        readJson(await readFile(instances.network.settings['GENESIS_FILE'] ?? '', 'utf8')),
      )
      const next = { keyId: 'na-next', seed: 'next' }
      const signed = await signSuccession(folder, { genesis, key: FIRST_KEY }, next, systemClock.now())
      const marks = { NA_HIGH_WATER_FILES: instances.markFile }
      const database = { settings: { DATABASE_URL: url }, drop: () => Promise.resolve() }
      return {
        targets: observed.targets,
        async begin() {
          await runTestStep('announce', { ...signed, settings: { ...signed.settings, ...marks } }, { database })
          await passOneDay(instances)
        },
        end: () => Promise.resolve(),
        close: () => opened.close(),
      }
    }),
}

async function openOne(
  opened: Opened,
  settings: Readonly<Record<string, string>>,
): Promise<{
  readonly instances: FaultInstances
  readonly observed: Awaited<ReturnType<typeof openObserved>>
  readonly url: string
}> {
  const server = await startTemporaryPostgres()
  opened.add(() => server.remove())
  const instances = await openFaultInstances({ databaseUrl: () => server.url, settings, instances: 1 })
  opened.add(() => instances.close())
  // With the clock of the instances: its lists would end after a day.
  const observed = await openObserved(instances, {
    CHANCERY_MOVED_CLOCK_FILE: instances.clockFile,
    NODE_OPTIONS: `--import ${MOVED_CLOCK}`,
  })
  opened.add(() => observed.close())
  return { instances, observed, url: server.url }
}

const MOVED_CLOCK = new URL('../campaigns/lib/moved-clock.ts', import.meta.url).href
