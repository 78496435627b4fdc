import { Refusal } from '@chancery/contract'
import {
  type CheckedPolicy,
  type Instant,
  type JsonObject,
  asJson,
  readJson,
  writeAmount,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import { readCounterRows } from '../../budgets/counter-rows.ts'
import { type BudgetState, describeCounter, readCounter, stateOf, usedOf } from '../../budgets/view.ts'
import type { Tables } from '../../database/tables.ts'
import { readChoiceFilter, readPage, readTextFilter, writeCursor } from '../../requests/paging.ts'
import type { BudgetsParts } from './verify-counters.ts'
import { countBudgets, findBudget, listBudgets, listUses } from './queries.ts'

type Row = Tables['budgets']

/** Rows of one statement. */
const SLICE = 500
/** Statements of one page: a filter by state reads counters that it leaves out. */
const MAX_SLICES = 10
const STATES = ['open', 'warning', 'exhausted'] as const

/**
 * GET /admin/budgets
 * Counters with an open window, ordered by source and key. A page that a filter by state leaves short has a cursor.
 */
export async function list({ query }: OperatorCall, parts: BudgetsParts): Promise<JsonObject> {
  const page = readPage(query, 100)
  const filter = { source: readTextFilter(query, 'source'), requester: readTextFilter(query, 'requester') }
  const state = readChoiceFilter(query, 'state', STATES)
  const now = parts.clock.now()
  const policies = await parts.boundaryPolicies.active.read()
  let after = page.after === undefined ? undefined : readPlace(page.after)
  const shown: JsonObject[] = []
  for (let slices = 0; slices < MAX_SLICES; slices += 1) {
    const rows = await listBudgets(parts.database.read, writeSortable(now), filter, after, SLICE)
    const described = await describeAll(parts, rows, policies, now)
    for (const each of described) {
      if (shown.length === page.limit) return answer(shown, after)
      after = { source: each.row.source, budget_key: each.row.budget_key }
      if (state === undefined || each.state === state) shown.push(each.json)
    }
    if (rows.length < SLICE) return answer(shown, undefined)
  }
  return answer(shown, after)
}

type Place = { readonly source: string; readonly budget_key: string }

function answer(shown: readonly JsonObject[], next: Place | undefined): JsonObject {
  const next_cursor = next === undefined ? null : writeCursor(writeJson([next.source, next.budget_key]))
  return { count: shown.length, budgets: shown, next_cursor }
}

function readPlace(text: string): Place {
  const place: unknown = readJson(text)
  const [source, budget_key] = Array.isArray(place) ? (place as readonly unknown[]) : []
  if (typeof source !== 'string' || typeof budget_key !== 'string') throw new Refusal('invalid_page')
  return { source, budget_key }
}

interface Described {
  readonly row: Row
  readonly state: BudgetState
  readonly json: JsonObject
}

async function describeAll(
  { database, settings }: BudgetsParts,
  rows: readonly Row[],
  policies: readonly CheckedPolicy[],
  now: Instant,
): Promise<readonly Described[]> {
  if (rows.length === 0) return []
  const keys = rows.map(({ budget_key }) => budget_key)
  const amounts = await readCounterRows(database, keys, writeSortable(now))
  return rows.map((row) => {
    const [counter, visible] = inForce(row, policies)
    const used = usedOf(counter, amounts, now)
    const json = { ...asJson(describeCounter(counter, used, now)), visible }
    return { row, state: stateOf(counter, used, settings.budgetWarningPercent), json }
  })
}

/** A counter with the limit of the policy in force. A treaty shows its budgets to the partner. */
function inForce(row: Row, policies: readonly CheckedPolicy[]): readonly [ReturnType<typeof readCounter>, boolean] {
  const counter = readCounter(row)
  for (const { policy_id, ready } of policies)
    for (const { spec, budget } of ready?.gates ?? [])
      if (budget !== undefined && row.source === `policy:${policy_id}/${spec.gate_id}`) {
        const limit = budget.limits.get(counter.unit) ?? counter.limit
        return [{ ...counter, limit, counts: budget.counts }, budget.visible]
      }
  return [counter, row.source.startsWith('treaty:')]
}

const MAX_DECISIONS = 100

/** GET /admin/budgets/{budget_key} */
export async function show(call: OperatorCall, parts: BudgetsParts): Promise<JsonObject> {
  const key = call.params['budget_key'] ?? ''
  const now = parts.clock.now()
  const at = writeSortable(now)
  const row = /^[0-9a-f]{64}$/.test(key) ? await findBudget(parts.database.read, key, at) : undefined
  if (row === undefined) throw new Refusal('budget_not_found')
  const [described] = await describeAll(parts, [row], await parts.boundaryPolicies.active.read(), now)
  const { scale } = readCounter(row)
  const uses = await listUses(parts.database.read, key, MAX_DECISIONS)
  const decisions = uses.map(({ decision_id, store_sequence, asked, state, live_until }) => {
    const isReserved = state === 'open' && live_until !== null && live_until >= at
    const word = state === 'counted' ? 'counted' : isReserved ? 'reserved' : 'released'
    return { decision_id, store_sequence, asked: writeAmount(BigInt(asked), scale), state: word }
  })
  return { ...described?.json, decisions }
}

/** Gauges of counters by state. No label names a partner or a policy. */
export function countStates({ metrics: { registry }, database, clock }: BudgetsParts): void {
  registry.rows({
    name: 'chancery_budgets',
    help: 'Counters of budgets that have an open window, by how much of their limit was used.',
    kind: 'gauge',
    labels: ['state'],
    together: 'max',
    collect: async () => {
      const { open, warned, exhausted } = await countBudgets(database.read, writeSortable(clock.now()))
      const rows = { open, warning: warned, exhausted }
      return Object.entries(rows).map(([state, value]) => ({ labels: { state }, value }))
    },
  })
}
