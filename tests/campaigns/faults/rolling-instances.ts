import { setTimeout as pause } from 'node:timers/promises'
import { isJsonObject } from '@chancery/protocol'
import { createTestNetwork, send } from '@chancery/testkit'
import { type BalancedInstances, startBalancedInstances } from '../../instances/balanced-instances.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { startOwnServer } from '../lib/private-postgres.ts'
import { LAST_RELEASE, makeNextRelease, unpackCommit } from '../lib/release-trees.ts'
import { RollingLoad } from './rolling-load.ts'

/** The smallest number that can be restarted without an interruption. */
const INSTANCES = 2
const SHOWN = 20
/** Load without a restart before and after, so that each kind of request is sent to each release. */
const CALM_MS = 1000

interface Rolled {
  readonly instances: BalancedInstances
  readonly load: RollingLoad
  readonly violation: (sentence: string) => void
  /** SIGTERM and start of one instance, with the release of `tree` if given. */
  readonly replace: (index: number, tree?: string) => Promise<void>
}

/** Rounds in which each instance of this release is restarted once. */
export function restartInstances(options: CampaignOptions): Promise<CampaignResult> {
  return underLoad(options, undefined, async ({ replace }) => {
    for (let round = 0; round < options.count; round += 1)
      for (let index = 0; index < INSTANCES; index += 1) await replace(index)
  })
}

/** From the last release to this one. Where the changelog lets its instances go on serving, only restarts are needed. */
export async function upgradeFromLastRelease(options: CampaignOptions): Promise<CampaignResult> {
  const release = await unpackCommit(LAST_RELEASE)
  try {
    return await replaceEach(options, release.folder, OWN_RELEASE)
  } finally {
    await release.remove()
  }
}

/** From this release to one with one more migration: only restarts are needed. */
export async function upgradeToNextRelease(options: CampaignOptions): Promise<CampaignResult> {
  const next = await makeNextRelease()
  try {
    return await replaceEach(options, undefined, next.folder)
  } finally {
    await next.remove()
  }
}

function replaceEach(options: CampaignOptions, from: string | undefined, to: string): Promise<CampaignResult> {
  return underLoad(options, from, async ({ instances, replace, violation }) => {
    await replace(0, to)
    const { status, warnings } = await readinessOf(instances, 1)
    if (status !== 200 || !warnings.includes('newer_schema'))
      violation(`on the newer schema the older release says ${status} with ${warnings.join(', ') || 'no warning'}`)
    await pause(CALM_MS)
    await replace(1, to)
  })
}

/** This release, which is not unpacked: these sources. */
const OWN_RELEASE = new URL('../../..', import.meta.url).pathname

async function readinessOf({ instanceUrls }: BalancedInstances, index: number) {
  const { status, json } = await send(instanceUrls[index] ?? '', 'GET', '/readyz')
  const warnings = isJsonObject(json) ? json['warnings'] : undefined
  return { status, warnings: Array.isArray(warnings) ? warnings.map(String) : [] }
}

/** Two instances of a release behind the documented balancer under load, with one case for each restart. */
async function underLoad(
  { seed, log }: CampaignOptions,
  firstTree: string | undefined,
  roll: (rolled: Rolled) => Promise<void>,
): Promise<CampaignResult> {
  let [cases, violations] = [0, 0]
  const violation = (sentence: string): void => {
    violations += 1
    if (violations <= SHOWN) log(`violation: ${sentence}`)
  }
  const network = await createTestNetwork('ROLLING-NET')
  const server = await startOwnServer()
  const database = await server.createDatabase()
  const settings = { ...network.settings, LOG_LEVEL: 'error', ...database.settings }
  const instances = await startBalancedInstances(settings, INSTANCES, firstTree)
  try {
    const load = new RollingLoad(instances.url, network, seed)
    await load.open()
    load.start()
    await pause(CALM_MS)
    const replace = async (index: number, tree?: string): Promise<void> => {
      cases += 1
      const code = await instances.restart(index, tree)
      if (code !== 0) violation(`na${index + 1} ended with ${code}`)
    }
    try {
      await roll({ instances, load, violation, replace })
      await pause(CALM_MS)
    } finally {
      await load.stop()
    }
    for (const failure of load.failures) violation(failure)
    const kinds = [...load.served].map(([kind, count]) => `${count} ${kind}`).join(', ')
    log(`${load.total} requests served (${kinds}), slowest ${Math.round(load.slowestMs)} ms`)
  } finally {
    if ((await instances.stop()) !== 0) violation('an instance did not end with 0')
    await server.remove()
    await network.remove()
  }
  return { cases, violations }
}
