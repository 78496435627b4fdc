import { DAY, HOUR, type Instant, MINUTE } from '@chancery/protocol'
import { type Finding, good, warn } from '@chancery/service-kit'
import type { Database } from '../../database/database.ts'
import { AUDIT } from '../../database/partitions/audit-partitions.ts'
import { EVIDENCE } from '../../database/partitions/evidence-partitions.ts'
import { readLayout } from '../../database/partitions/layout.ts'
import { readServerSettings } from '../../database/postgres/server-settings.ts'
import {
  TABLE_NAMES,
  countPast,
  countTables,
  keptTime,
  measureBytes,
  mostRows,
  readGrowth,
} from '../../database/sizes/measure-tables.ts'
import { type KeptDays, TABLE_ENDS, type TableName } from '../../database/sizes/table-ends.ts'

/** Smaller tables are shown only when they are above a bound. */
const LARGE_ROWS = 10_000
/** A job runs every few minutes, and after a long stop when its clock is accepted, 25 hours later. */
const SLACK = 2n * DAY

interface Measured {
  readonly table: TableName
  readonly rows: number
  /** Rows past their end. */
  readonly past: number
  readonly most: number | undefined
  readonly text: string
}

/** Shows the size and growth of every large table, and finds tables above their bound. */
export async function checkTables(database: Database, settings: KeptDays, now: Instant): Promise<readonly Finding[]> {
  const counts = await countTables(database)
  const bytes = await measureBytes(database)
  const growth = await readGrowth(database.read, counts, now)
  const findings: Finding[] = []
  for (const table of TABLE_NAMES) {
    const rows = counts.get(table) ?? 0
    const measured: Measured = {
      table,
      rows,
      past: await countPast(database.read, table, settings, { now, slack: SLACK }),
      most: mostRows(TABLE_ENDS[table], counts),
      text: describe(table, { rows, bytes: bytes.get(table), growth: growth.get(table) }, settings, counts),
    }
    findings.push(...checkTable(measured))
  }
  const total = [...bytes.values()].reduce((sum, each) => sum + each, 0)
  const size = bytes.size === 0 ? '' : `, ${inUnits(total)}`
  return [good('tables', `${TABLE_NAMES.length} tables${size}`), ...findings]
}

function checkTable({ table, rows, past, most, text }: Measured): readonly Finding[] {
  if (past > 0) {
    const { job = '', fix = `Look at job ${job} in /metrics and in the log.` } = TABLE_ENDS[table].timed ?? {}
    return [
      warn('table', `${text}; ${inWords(past)} rows are past their end`, fix, {
        effect: 'The table grows.',
        about: table,
      }),
    ]
  }
  if (most !== undefined && rows > most)
    return [
      warn('table', text, 'Find out what adds the rows: docs/operate/retention.md#tables-above-their-bound.', {
        effect: 'Backups and reads of it take longer than planned.',
        about: table,
      }),
    ]
  return rows < LARGE_ROWS ? [] : [good('table', text)]
}

interface Size {
  readonly rows: number
  readonly bytes: number | undefined
  readonly growth: number | undefined
}

function describe(
  table: TableName,
  { rows, bytes, growth }: Size,
  settings: KeptDays,
  counts: ReadonlyMap<TableName, number>,
): string {
  const parts = [`${table}: ${inWords(rows)} rows`]
  if (bytes !== undefined) parts.push(inUnits(bytes))
  parts.push(growth === undefined ? 'growth not known yet' : describeGrowth({ rows, bytes, growth }))
  parts.push(`bound: ${describeBound(table, settings, counts)}`)
  return parts.join(', ')
}

function describeGrowth({ rows, bytes, growth }: Size & { readonly growth: number }): string {
  const sign = growth < 0 ? '-' : '+'
  const text = `${sign}${inWords(Math.round(Math.abs(growth)))} rows a day`
  if (bytes === undefined || rows === 0) return text
  return `${text} (${inUnits(Math.round((Math.abs(growth) * bytes) / rows))})`
}

function describeBound(table: TableName, settings: KeptDays, counts: ReadonlyMap<TableName, number>): string {
  const end = TABLE_ENDS[table]
  const [kept, most] = [keptTime(end, settings), mostRows(end, counts)]
  const texts = [
    ...(end.timed === undefined ? [] : [kept === undefined ? 'stored permanently' : describeTime(kept)]),
    ...(most === undefined ? [] : [`${inWords(most)} rows`]),
  ]
  return texts.join(', ')
}

function describeTime(kept: Instant): string {
  if (kept === 0n) return 'its end'
  if (kept < HOUR) return `${kept / MINUTE} minutes after its end`
  return kept < DAY ? `${kept / HOUR} h after its end` : `${kept / DAY} days after its end`
}

function inWords(count: number): string {
  return count.toLocaleString('en-US')
}

function inUnits(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  let [size, unit] = [bytes, 0]
  while (size >= 1024 && unit < units.length - 1) [size, unit] = [size / 1024, unit + 1]
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit] ?? ''}`
}

/** Locks of one query for each partition: the tables that it joins, with all their indexes. */
export const LOCKS_OF_PARTITION = { audit: 12, evidence: 15 }

const SETTINGS = ['max_locks_per_transaction', 'max_connections', 'max_prepared_transactions'] as const

export interface LockFacts {
  readonly auditPartitions: number
  readonly evidencePartitions: number
  /** Settings of the server. */
  readonly locksPerTransaction: number
  readonly connections: number
  readonly preparedTransactions: number
}

/** Checks that PostgreSQL has locks for all partitions when every connection queries them at once. */
export async function checkLocks(database: Database): Promise<readonly Finding[]> {
  if (database.engine === 'sqlite') return []
  const [audit, evidence] = [await readLayout(database.read, AUDIT), await readLayout(database.read, EVIDENCE)]
  const found = await readServerSettings(database, SETTINGS)
  const read = (name: (typeof SETTINGS)[number]): number => Number(found.get(name) ?? 0)
  return [
    compareLocks({
      auditPartitions: audit?.partitions.length ?? 0,
      evidencePartitions: evidence?.partitions.length ?? 0,
      locksPerTransaction: read('max_locks_per_transaction'),
      connections: read('max_connections'),
      preparedTransactions: read('max_prepared_transactions'),
    }),
  ]
}

/** The server shares all its locks among its connections. */
export function compareLocks(facts: LockFacts): Finding {
  const { auditPartitions, evidencePartitions, locksPerTransaction, connections, preparedTransactions } = facts
  const owners = connections + preparedTransactions
  const query = Math.max(auditPartitions * LOCKS_OF_PARTITION.audit, evidencePartitions * LOCKS_OF_PARTITION.evidence)
  const needed = query * connections
  const partitions = `${auditPartitions} partitions of audit events, ${evidencePartitions} of evidence`
  if (needed <= locksPerTransaction * owners) return good('database-locks', partitions)
  // For twice as many partitions: a change needs a restart of the server.
  const value = Math.ceil((2 * needed) / owners)
  return warn(
    'database-locks',
    `${partitions}; max_locks_per_transaction is ${locksPerTransaction}`,
    `On the server: alter system set max_locks_per_transaction = ${value}, then restart it, standbys first.`,
    { effect: 'Queries fail with «out of shared memory» when many run at once.' },
  )
}
