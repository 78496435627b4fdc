import {
  type BudgetSettle,
  type ExecutionEvidence,
  type JsonObject,
  instantOf,
  isCounted,
  isDoneOutcome,
  isJsonObject,
  readJson,
  readWindowForm,
  windowAt,
} from '@chancery/protocol'
import type { AuditEvent } from '../audit/record.ts'
import type { Statement, Transaction } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import { readCounterRows } from './counter-rows.ts'

type Use = Tables['budget_uses']

const UNSETTLED = `select * from budget_uses where state = 'open' and settle_json is not null and decision_id = `

const FIND_UNSETTLED: Statement<string, Use> = {
  name: 'find-unsettled-budgets',
  postgres: { text: `${UNSETTLED}$1`, values: (decision_id) => [decision_id] },
  sqlite: (prepare, decision_id) => prepare(`${UNSETTLED}?`).all(decision_id) as unknown as Use[],
}

/**
 * What a stored execution changes in the counters, in the transaction of its entry. Success makes an amount final, also
 * one that was released before. Failure releases it when the decision ends, because the executor may try again until then.
 */
export async function settleExecution(
  tx: Transaction,
  {
    decision_id,
    executor_sovereign_id,
    outcome,
  }: Pick<ExecutionEvidence, 'decision_id' | 'executor_sovereign_id' | 'outcome'>,
  now: string,
): Promise<readonly AuditEvent[]> {
  const uses = await tx.run(FIND_UNSETTLED, decision_id)
  const events: AuditEvent[] = []
  for (const use of uses) {
    if (!readSettle(use.settle_json).executors.includes(executor_sovereign_id)) continue
    if (isDoneOutcome(outcome)) events.push(...(await makeFinal(tx, use, now)))
    else if (outcome === 'failure') await endWithDecision(tx, use)
  }
  return events
}

function readSettle(text: string | null): BudgetSettle {
  const value = readJson(text ?? '')
  if (!isJsonObject(value)) throw new TypeError('a stored list of executors has another form')
  return value as unknown as BudgetSettle
}

async function endWithDecision({ query }: Transaction, use: Use): Promise<void> {
  await query
    .updateTable('budget_uses')
    .set({ live_until: use.valid_until })
    .where('budget_key', '=', use.budget_key)
    .where('store_sequence', '=', use.store_sequence)
    .execute()
}

async function makeFinal(tx: Transaction, use: Use, now: string): Promise<readonly AuditEvent[]> {
  const { budget_key, slot, asked, store_sequence, live_until } = use
  await tx.query
    .updateTable('budget_uses')
    .set({ state: 'counted', live_until: null })
    .where('budget_key', '=', budget_key)
    .where('store_sequence', '=', store_sequence)
    .execute()
  const rows = await readCounterRows(tx, [budget_key], now)
  const sum = rows.sums.find((each) => each.slot === slot)
  const amount = String(BigInt(sum?.amount ?? '0') + BigInt(asked))
  await tx.query
    .insertInto('budget_sums')
    .values({ budget_key, slot, amount, reported: 0, kept_until: use.kept_until })
    .onConflict((conflict) => conflict.columns(['budget_key', 'slot']).doUpdateSet({ amount }))
    .execute()
  const wasReleased = live_until !== null && live_until < now
  const [budget] = rows.budgets
  return wasReleased && budget !== undefined ? reportOverrun(tx, budget, now) : []
}

/** An amount that was released may have been given to others since: then the budget is used above its limit. */
async function reportOverrun(
  tx: Transaction,
  { budget_key, source, identity_json, last_limit }: Tables['budgets'],
  now: string,
): Promise<readonly AuditEvent[]> {
  const identity = readJson(identity_json) as JsonObject
  const window = readWindowForm(identity['window'])
  if (window === undefined) return []
  const at = instantOf(now)
  const { sums, open } = await readCounterRows(tx, [budget_key], now)
  const counted = [
    ...sums.map(({ slot, amount }) => [slot, amount] as const),
    ...open.map((use) => [use.slot, use.asked] as const),
  ]
  const used = counted
    .filter(([slot]) => isCounted(window, BigInt(slot), at))
    .reduce((all, [, amount]) => all + BigInt(amount), 0n)
  const limit = BigInt(last_limit)
  if (used <= limit) return []
  const { name, until } = windowAt(window, at)
  await tx.query.updateTable('budgets').set({ overrun_until: until }).where('budget_key', '=', budget_key).execute()
  const percent = Number((used * 100n) / limit)
  return [{ type: 'budget_overrun', details: { source, budget_key, window: name, percent } }]
}
