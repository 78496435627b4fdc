import { DAY } from '@chancery/protocol'
import type { Backend } from '@chancery/testkit'
import { checkTables } from '../../../apps/authority/src/commands/doctor/check-tables.ts'
import {
  TABLE_NAMES,
  countPast,
  countTables,
  measureBytes,
  mostRows,
} from '../../../apps/authority/src/database/sizes/measure-tables.ts'
import { TABLE_ENDS, type TableName } from '../../../apps/authority/src/database/sizes/table-ends.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { seededRandom } from '../lib/random.ts'
import { GrowingNetwork, KEPT } from './network.ts'

export const summary = 'a year of a network of 1,000 nodes with all jobs; every table must be within its bound'
/** Days. */
export const defaultCount = 365

const NODES = 1000
/** After the year: longer than any row is stored that has an end. */
const REST_DAYS = 410
/** Days between two runs of the jobs then. */
const REST_STEP = 5

/**
 * Tables and the days after which what was added must be gone: the time of retention.md, the validity of the record,
 * and two days for the jobs. It does not use the conditions of the jobs.
 */
const ADDED_WITHIN: readonly (readonly [TableName, number])[] = [
  ['issued_certs', KEPT.certificates + 7 + 2],
  ['invite_tokens', KEPT.invites + 7 + 2],
  ['evidence_entries', KEPT.evidence + 30 + 2],
  ['evidence_rejections', KEPT.rejections + 2],
  ['audit_events', KEPT.audit + 2],
  ['sovereign_revocation_feeds', 402],
  ['crl_versions', 4],
  ['agent_registrations', 4],
  ['nonces', 3],
]

export interface GrowthOptions extends CampaignOptions {
  readonly backend?: Backend
  readonly restStep?: number
  /** Changes the database before the last comparison: the campaign must then find violations. */
  readonly spoil?: (network: GrowingNetwork) => Promise<unknown>
}

/** An even seed runs on SQLite, an odd one on PostgreSQL. A case is a day. */
export async function run(options: GrowthOptions): Promise<CampaignResult> {
  const { count, seed, log, nodes = NODES, restStep = REST_STEP } = options
  const backend = options.backend ?? (seed % 2 === 0 ? 'sqlite' : 'postgres')
  const network = await GrowingNetwork.open(backend, seededRandom(seed))
  try {
    const start = performance.now()
    for (let day = 0; day < count; day += 1) {
      await network.live(nodes)
      if (day % 30 === 29) log(`day ${day + 1}, ${Math.round((performance.now() - start) / 1000)} s`)
    }
    const year = await compare(network, `after ${count} days, ${backend}`, log)
    for (let rested = 0; rested < REST_DAYS; rested += restStep) await network.rest(restStep)
    await network.retain()
    // Each job has a bound for one run.
    for (let pass = 0; pass < 12; pass += 1) await network.pass(6 * 3600)
    await options.spoil?.(network)
    const end = await compare(network, `after ${REST_DAYS} more days without requests`, log)
    return { cases: count, violations: year + end }
  } finally {
    await network.close()
  }
}

/** Returns the number of tables above a bound, and prints all that have rows. */
async function compare(network: GrowingNetwork, when: string, log: (line: string) => void): Promise<number> {
  const { database } = network.na.core
  const { settings } = network.na
  const now = network.clock.now()
  const counts = await countTables(database)
  const bytes = await measureBytes(database)
  const problems: string[] = []
  log(when)
  for (const table of TABLE_NAMES) {
    const rows = counts.get(table) ?? 0
    const past = await countPast(database.read, table, settings, { now, slack: DAY })
    const most = mostRows(TABLE_ENDS[table], counts)
    const added = addedBound(network, table)
    if (rows > 0)
      log(`${table}: ${rows} rows, ${bytes.get(table) ?? 0} bytes${added === undefined ? '' : `, bound ${added}`}`)
    if (past > 0) problems.push(`${table}: ${past} rows past their end`)
    if (most !== undefined && rows > most) problems.push(`${table}: ${rows} rows, more than ${most}`)
    if (added !== undefined && rows > added) problems.push(`${table}: ${rows} rows, ${added} were added in its time`)
  }
  for (const finding of await checkTables(database, settings, now))
    if (finding.status !== 'good') problems.push(`doctor: ${finding.found}`)
  for (const problem of problems) log(`violation ${when}: ${problem}`)
  return problems.length
}

/**
 * Rows that stay whatever their age are added: certificates of stolen keys, the newest list, the last two feeds. On
 * PostgreSQL the newest events have no number yet, so they are not among the added ones.
 */
function addedBound(network: GrowingNetwork, table: TableName): number | undefined {
  const days = ADDED_WITHIN.find(([name]) => name === table)?.[1]
  if (days === undefined) return undefined
  const staying: Partial<Record<TableName, number>> = {
    issued_certs: network.stolen,
    audit_events: 20,
    crl_versions: 2,
    sovereign_revocation_feeds: 2,
  }
  return network.addedWithin(table, days) + (staying[table] ?? 0)
}
