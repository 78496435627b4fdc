import { type RawBuilder, sql } from 'kysely'
import type { Database, Reader } from '../../../database/database.ts'
import { FACT_FILTERS, type SearchRequest } from '../requests.ts'
import type { EntryRow } from './entries.ts'
import { IdStatement } from '../../../database/statement.ts'

type Found = Pick<EntryRow, 'store_sequence' | 'line'>

export interface FoundDecision extends Found {
  readonly decision_id: string | null
}

/**
 * A page in store order, or from the newest entry on. Times never decrease, so they become bounds of the sequence. Each
 * filter has its own index in store order, so the cost of a page does not depend on its position.
 */
export async function searchEntries(db: Reader, request: SearchRequest): Promise<readonly FoundDecision[]> {
  const [first, end] = [await firstAt(db, request.since), await firstAt(db, request.until)]
  if (first === 'none') return []
  const until = end === 'none' || request.until === undefined ? Number.MAX_SAFE_INTEGER : end
  const isByFacts = FACT_FILTERS.some((name) => request.filters[name] !== undefined)
  const position = sql.ref<number>(isByFacts ? 'f.store_sequence' : 'e.store_sequence')
  let query = db
    .selectFrom('evidence_entries as e')
    .select(['e.store_sequence', 'e.decision_id', 'e.line'])
    .$if(isByFacts, (joined) => joined.innerJoin('decision_facts as f', 'f.store_sequence', 'e.store_sequence'))
    .where(position, '>', Math.max(request.after, first - 1))
    .where(position, '<', Math.min(request.before, until))
  for (const [name, value] of Object.entries(request.filters)) query = query.where(columnOf(name, request), '=', value)
  return query
    .orderBy(position, request.isNewestFirst ? 'desc' : 'asc')
    .limit(request.limit)
    .execute()
}

/**
 * Most entries are of a few kinds, so with another filter the index of kinds would be the wrong one. An expression
 * cannot use it.
 */
function columnOf(name: string, { filters }: SearchRequest): RawBuilder<string> {
  if ((FACT_FILTERS as readonly string[]).includes(name)) return sql.ref(`f.${name}`)
  const isAlone = Object.keys(filters).length === 1
  return name === 'entry_kind' && !isAlone ? sql<string>`e.entry_kind || ''` : sql.ref(`e.${name}`)
}

/** The first entry not before a time; 'none' when all are. */
async function firstAt(db: Reader, time: string | undefined): Promise<number | 'none'> {
  if (time === undefined) return 0
  const row = await db
    .selectFrom('evidence_entries')
    .select('store_sequence')
    .where('recorded_at', '>=', time)
    .orderBy('recorded_at')
    .orderBy('store_sequence')
    .limit(1)
    .executeTakeFirst()
  return row?.store_sequence ?? 'none'
}

/** Maximum number of executions or decisions in a history; `truncated` reports more. */
export const MAX_HISTORY = 10_000

export interface History {
  readonly truncated: boolean
  readonly lines: readonly string[]
}

/** The decisions of a resource's executions, their justifications, and the executions, in store order. */
export async function readResourceHistory(db: Reader, resource_id: string, after: number): Promise<History> {
  const executions = await db
    .selectFrom('evidence_entries')
    .select(['store_sequence', 'decision_id', 'line'])
    .where('resource_id', '=', resource_id)
    .where('entry_kind', '=', 'execution')
    .where('store_sequence', '>', after)
    .orderBy('store_sequence')
    .limit(MAX_HISTORY + 1)
    .execute()
  const shown = executions.slice(0, MAX_HISTORY)
  const grounds = await readDecisions(db, idsOf(shown), ['decision', 'justification'])
  return { truncated: executions.length > MAX_HISTORY, lines: inStoreOrder([...shown, ...grounds]) }
}

/** Everything that belongs to a vendor's decisions, in store order. */
export async function readVendorHistory(db: Reader, vendor_id: string, after: number): Promise<History> {
  const decisions = await db
    .selectFrom('evidence_entries')
    .select(['store_sequence', 'decision_id'])
    .where('vendor_id', '=', vendor_id)
    .where('entry_kind', '=', 'decision')
    .where('store_sequence', '>', after)
    .orderBy('store_sequence')
    .limit(MAX_HISTORY + 1)
    .execute()
  const kinds = ['decision', 'justification', 'execution']
  const rows = await readDecisions(db, idsOf(decisions.slice(0, MAX_HISTORY)), kinds)
  return { truncated: decisions.length > MAX_HISTORY, lines: inStoreOrder(rows) }
}

function idsOf(rows: readonly { readonly decision_id: string | null }[]): readonly string[] {
  return [...new Set(rows.flatMap((row) => row.decision_id ?? []))]
}

async function readDecisions(db: Reader, ids: readonly string[], kinds: readonly string[]): Promise<readonly Found[]> {
  const found: Found[] = []
  for (let at = 0; at < ids.length; at += 500) {
    const rows = await db
      .selectFrom('evidence_entries')
      .select(['store_sequence', 'line'])
      .where('decision_id', 'in', ids.slice(at, at + 500))
      .where('entry_kind', 'in', kinds)
      .execute()
    found.push(...rows)
  }
  return found
}

function inStoreOrder(rows: readonly Found[]): readonly string[] {
  return rows.toSorted((a, b) => a.store_sequence - b.store_sequence).map((row) => row.line)
}

/** A decision with the entries about it. */
export interface DecisionGroup {
  readonly decision_id: string
  /** How many executions it has, also when `lines` has only the newest of them. */
  readonly executions: number
  /** Decision, justification and the newest executions, in store order. */
  readonly lines: readonly string[]
}

interface GroupRow {
  readonly id: string
  readonly exec_sequence_no: number | null
  readonly line: string
}

/** Newest executions in a group: a decision can have any number of them. */
const SHOWN_EXECUTIONS = 5

const JUSTIFICATIONS = new IdStatement<GroupRow>(
  'evidence-group-justifications',
  (ids) => `
  select t.id, null as exec_sequence_no, j.line from ${ids} join evidence_entries j
    on j.decision_id = t.id and j.entry_kind = 'justification' order by j.store_sequence`,
)

// A decision with many executions costs no more than one with few: positions have no gaps, so the last one is the
// number, and the newest are a range before it.
const EXECUTIONS = new IdStatement<GroupRow>(
  'evidence-group-executions',
  (ids) => `
  select last.id, x.exec_sequence_no, x.line from (
    select t.id, (select e.exec_sequence_no from evidence_entries e
      where e.entry_kind = 'execution' and e.decision_id = t.id order by e.exec_sequence_no desc limit 1) as number
    from ${ids}) last
  join evidence_entries x on x.entry_kind = 'execution' and x.decision_id = last.id
    and x.exec_sequence_no > last.number - ${SHOWN_EXECUTIONS}
  order by x.store_sequence`,
)

/** The groups of decisions, in their order. Three index probes for each. */
export async function readGroups(
  database: Database,
  decisions: readonly FoundDecision[],
): Promise<readonly DecisionGroup[]> {
  const ids = decisions.flatMap(({ decision_id }) => decision_id ?? [])
  const rows = [
    ...(await JUSTIFICATIONS.run(database, database.read, ids)),
    ...(await EXECUTIONS.run(database, database.read, ids)),
  ]
  const byId = Map.groupBy(rows, ({ id }) => id)
  return decisions.map(({ decision_id, line }) => {
    const others = byId.get(decision_id ?? '') ?? []
    const executions = Math.max(0, ...others.map((row) => Number(row.exec_sequence_no ?? 0)))
    return { decision_id: decision_id ?? '', executions, lines: [line, ...others.map((row) => row.line)] }
  })
}
