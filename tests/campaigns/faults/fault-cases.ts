import { setTimeout as pause } from 'node:timers/promises'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { checkPromises } from './fault-checks.ts'
import type { FaultInstances } from './fault-instances.ts'
import { FaultRecorder } from './fault-recorder.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { openRows } from '../lib/rows.ts'

/**
 * Setup of the cases of a fault campaign. It is replaced from time to time, because every list contains all entries.
 */
export interface FaultSetup {
  readonly instances: FaultInstances
  /** Direct connection to the database, without the proxies of the instances. */
  readonly databaseUrl: () => string
  /** Causes a fault under load and ends it; returns the violations it found itself. */
  breakAndMend(index: number, random: Random): Promise<readonly string[]>
  close(): Promise<void>
}

const CASES_PER_SETUP = 10
const READY_SECONDS = 20

/** Each case: load, a fault under load, load again, then the checks. */
export async function runFaultCases(
  options: CampaignOptions,
  openSetup: (random: Random) => Promise<FaultSetup>,
): Promise<CampaignResult> {
  const random = seededRandom(options.seed)
  let [violations, acked, unavailable, unknown] = [0, 0, 0, 0]
  for (let done = 0; done < options.count; done += CASES_PER_SETUP) {
    const setup = await openSetup(random)
    const recorder = new FaultRecorder(setup.instances, random)
    try {
      await recorder.open()
      for (let index = done; index < Math.min(done + CASES_PER_SETUP, options.count); index += 1) {
        const found = await runCase(setup, recorder, index, random)
        violations += found.length
        for (const sentence of found.slice(0, 20)) options.log(`violation: case ${index}: ${sentence}`)
      }
    } finally {
      await setup.close()
    }
    acked += recorder.acked
    unavailable += recorder.unavailable
    unknown += recorder.unknown
    const cases = Math.min(done + CASES_PER_SETUP, options.count)
    options.log(`${cases} cases, ${acked} acks, ${unavailable} refused, ${unknown} unknown, ${violations} violations`)
  }
  return { cases: options.count, violations }
}

async function runCase(
  setup: FaultSetup,
  recorder: FaultRecorder,
  index: number,
  random: Random,
): Promise<readonly string[]> {
  recorder.start()
  await pause(200 + random.below(400))
  const found = await setup.breakAndMend(index, random)
  const unready = await setup.instances.awaitReady(READY_SECONDS)
  await pause(200)
  await recorder.stop()
  const rows = await openRows({ settings: { DATABASE_URL: setup.databaseUrl() }, drop: () => Promise.resolve() })
  try {
    return [
      ...found,
      ...unready.map((each) => `instance ${each + 1} is not ready again after ${READY_SECONDS} s`),
      ...(await checkPromises(setup.instances, recorder, rows)),
    ]
  } finally {
    await rows.close()
  }
}
