import { run as failOver } from '../faults/failover.ts'
import { upgradeFromLastRelease } from '../faults/rolling-instances.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { announcedKeyOnPostgres, announcedKeyOnSqlite } from './announced-key.ts'
import { clockOff } from './clock.ts'
import { diskFullOnPostgres, diskFullOnSqlite, logDiskFullOnPostgres } from './disk.ts'
import { gatewayAudit } from './gateway-audit.ts'
import { listOverBound } from './lists.ts'
import { databaseGone, databaseSilent } from './outage.ts'
import { powerCut } from './power-cut.ts'
import { redisGone } from './redis.ts'
import { oldRestore } from './restore.ts'
import { partnerSilentOnPostgres, partnerSilentOnSqlite } from './silent-partner.ts'
import { slowDatabase } from './slow-database.ts'
import { tokenLostOnPostgres, tokenLostOnSqlite } from './token.ts'
import type { OperateCase } from './tools.ts'
import { brokenUpgrade } from './upgrade.ts'

/** Two instances of the last release under load, replaced one after the other by this one: no request fails. */
const upgradedUnderLoad: OperateCase = {
  name: 'upgrade from the last release under load',
  run: (random, log) => violationsOf(upgradeFromLastRelease, { count: 1, random, log }),
}

/** The old primary is killed, cut off, and killed after its standby could confirm nothing. */
const promotedStandby: OperateCase = {
  name: 'promotion of a synchronous standby',
  run: (random, log) => violationsOf(failOver, { count: 3, random, log }),
}

/** Runs a campaign as one case. Its violations are lines of its log. */
async function violationsOf(
  campaign: (options: CampaignOptions) => Promise<CampaignResult>,
  { count, random, log }: Pick<CampaignOptions, 'count' | 'log'> & { readonly random: Random },
): Promise<readonly string[]> {
  const found: string[] = []
  const keep = (line: string): void => {
    if (line.startsWith('violation: ')) found.push(line.slice('violation: '.length))
    else log(line)
  }
  const { violations } = await campaign({ count, seed: random.below(2 ** 32), log: keep })
  // A campaign shows only the first ones.
  const more = violations - found.length
  return more > 0 ? [...found, `${more} more violations`] : found
}

export const summary =
  'full disks, database, Redis and clock gone, a list over its bound, an old restore, a broken upgrade: alarms fire and end'

const CASES: readonly OperateCase[] = [
  diskFullOnSqlite,
  diskFullOnPostgres,
  logDiskFullOnPostgres,
  databaseGone,
  databaseSilent,
  redisGone,
  clockOff,
  listOverBound,
  oldRestore,
  brokenUpgrade,
  powerCut,
  slowDatabase,
  upgradedUnderLoad,
  promotedStandby,
  gatewayAudit,
  partnerSilentOnSqlite,
  partnerSilentOnPostgres,
  announcedKeyOnSqlite,
  announcedKeyOnPostgres,
  tokenLostOnSqlite,
  tokenLostOnPostgres,
]

/** Every case once. */
export const defaultCount = CASES.length

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runOperateCases(options, CASES)
}

/**
 * Runs the cases in order, and starts again when `count` is larger. With `only` each case of that name runs once. A case
 * that cannot be set up is a violation.
 */
export async function runOperateCases(
  { count: asked, seed, log, only }: CampaignOptions,
  all: readonly OperateCase[],
): Promise<CampaignResult> {
  const cases = only === undefined ? all : all.filter(({ name }) => name.includes(only))
  if (cases.length === 0) throw new Error(`no case has ${only} in its name: ${all.map(({ name }) => name).join('; ')}`)
  const count = only === undefined ? asked : cases.length
  const random = seededRandom(seed)
  let violations = 0
  for (let index = 0; index < count; index += 1) {
    const each = cases[index % cases.length]
    if (each === undefined) throw new Error('no cases')
    const started = performance.now()
    const found = await each
      .run(random, log)
      .catch((error: unknown) => [
        `it could not be set up or carried out: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      ])
    violations += found.length
    for (const sentence of found.slice(0, 20)) log(`violation: ${each.name}: ${sentence}`)
    const seconds = ((performance.now() - started) / 1000).toFixed(0)
    log(`${each.name}: ${found.length} violations, ${seconds} s`)
  }
  return { cases: count, violations }
}
