import { setImmediate } from 'node:timers/promises'
import { Refusal } from '@chancery/contract'
import {
  BudgetLedger,
  BudgetRecomputation,
  type Instant,
  type JsonObject,
  type LedgerUse,
  isJsonObject,
  readBudgetEvent,
  readJson,
  windowAt,
  writeAmount,
  writeSortable,
} from '@chancery/protocol'
import { sql } from 'kysely'
import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { BoundaryPolicies } from '../boundary-policies/index.ts'
import { writeCounterRows } from '../../budgets/counter-rows.ts'
import { hasBudget, keptUntil } from '../../budgets/slots.ts'
import { toBudgetRow, toUseRow } from '../../budgets/use-row.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import type { Tables } from '../../database/tables.ts'
import { lockEvidenceHead, moveBudgetSequence, readEvidenceHead } from '../evidence/index.ts'

export interface BudgetsParts extends FeatureBase, Pick<Core, 'instance'> {
  readonly settings: Pick<
    AuthoritySettings,
    'boundaryPolicyEnforcement' | 'budgetCheckSeconds' | 'budgetWarningPercent' | 'evidenceStore'
  >
  readonly boundaryPolicies: Pick<BoundaryPolicies, 'active'>
}

/** Entries of one statement. Other requests go on between two of them. */
const SLICE = 2000
/** When so few are left, they are read under the lock of the store. */
const FEW = 500

export interface CounterMismatch {
  readonly budget_key: string
  readonly window: string
  readonly stored: string
  readonly computed: string
}

export interface CounterCheck {
  readonly checked: number
  readonly mismatches: readonly CounterMismatch[]
}

/**
 * Computes the counters of all open windows again from the entries, and repairs those that differ in the same
 * transaction (protocol/budgets-and-approvals 9). Most entries are read before the lock of the store is taken.
 */
export async function verifyCounters(parts: BudgetsParts): Promise<CounterCheck> {
  if (!parts.settings.evidenceStore) throw new Refusal('evidence_store_required')
  const now = parts.clock.now()
  const uses: LedgerUse[] = []
  const ledger = new BudgetLedger((use) => {
    // A use of a closed window is never counted again.
    if (keptUntil(use.use.window, use.slot) > now) uses.push(use)
  })
  const run = new BudgetRecomputation({}, ledger)
  const { database } = parts
  let last = (await readEvidenceHead(database.read)).removed_through
  for (;;) {
    const { last_sequence } = await readEvidenceHead(database.read)
    if (last_sequence - last <= FEW) break
    last = await readSlice(database.read, run, last, last_sequence)
    await setImmediate()
  }
  return database.write(async (tx) => {
    const head = await lockEvidenceHead(tx)
    while (last < head.last_sequence) last = await readSlice(tx.query, run, last, head.last_sequence)
    const check = await compareAndRepair(tx, uses, now)
    await moveBudgetSequence(tx, head.last_sequence)
    for (const { budget_key, window, source } of check.repaired)
      await parts.audit.record(tx, { type: 'budget_state_repaired', details: { source, budget_key, window } })
    return check
  })
}

interface Line {
  readonly store_sequence: number
  readonly entry_kind: string
  readonly line: string
}

/** Decisions under a budget with their justification, and what is reported about decisions. Returns where it ended. */
async function readSlice(db: Reader, run: BudgetRecomputation, after: number, head: number): Promise<number> {
  const through = Math.min(after + SLICE, head)
  const { rows } = await sql<Line>`
    select e.store_sequence, e.entry_kind, e.line from evidence_entries e
    where e.store_sequence > ${after} and e.store_sequence <= ${through + 1} and (
      e.entry_kind in ('execution', 'approval')
      or (e.entry_kind = 'justification' and ${hasBudget('e')})
      or (e.entry_kind = 'decision' and exists (select 1 from evidence_entries j
        where j.store_sequence = e.store_sequence + 1 and j.entry_kind = 'justification' and ${hasBudget('j')})))
    order by e.store_sequence`.execute(db)
  // A decision and its justification belong together, so the one after the slice is read with it.
  const isSplit = rows.at(-1)?.store_sequence === through + 1 && rows.at(-1)?.entry_kind === 'justification'
  const end = isSplit ? through + 1 : through
  for (const { store_sequence, entry_kind, line } of rows) {
    if (store_sequence > end) break
    const event = readJson(line)
    const payload = isJsonObject(event) ? event['payload'] : undefined
    const read = payload === undefined ? undefined : readBudgetEvent(entry_kind, payload)
    if (read !== undefined) run.add(store_sequence, read)
  }
  return Math.min(end, head)
}

interface Computed {
  row: Tables['budgets']
  readonly sums: Map<number, bigint>
  readonly uses: Tables['budget_uses'][]
  readonly of: LedgerUse['use']
}

function toComputed(uses: readonly LedgerUse[]): ReadonlyMap<string, Computed> {
  const all = new Map<string, Computed>()
  for (const each of uses) {
    const { use, requester, madeAt } = each
    const row = toUseRow(each)
    const known = all.get(use.budget_key)
    const budget = toBudgetRow(use, { requester, madeAt, kept: row.kept_until }, known?.row)
    const computed: Computed = known ?? { row: budget, sums: new Map(), uses: [], of: use }
    computed.row = budget
    computed.uses.push(row)
    if (row.state === 'counted') computed.sums.set(row.slot, (computed.sums.get(row.slot) ?? 0n) + BigInt(row.asked))
    all.set(use.budget_key, computed)
  }
  return all
}

interface Stored {
  row: Tables['budgets'] | undefined
  readonly sums: Map<number, Tables['budget_sums']>
  readonly uses: Tables['budget_uses'][]
}

async function readStored(tx: Transaction, now: string): Promise<ReadonlyMap<string, Stored>> {
  const all = new Map<string, Stored>()
  const at = (key: string): Stored => {
    const known: Stored = all.get(key) ?? { row: undefined, sums: new Map(), uses: [] }
    all.set(key, known)
    return known
  }
  const { query } = tx
  for (const row of await query.selectFrom('budgets').selectAll().where('open_until', '>', now).execute())
    at(row.budget_key).row = row
  for (const row of await query.selectFrom('budget_sums').selectAll().where('kept_until', '>', now).execute())
    at(row.budget_key).sums.set(row.slot, row)
  const open = query.selectFrom('budget_uses').selectAll().where('kept_until', '>', now).where('state', '=', 'open')
  for (const row of await open.execute()) at(row.budget_key).uses.push(row)
  return all
}

interface Repaired extends CounterCheck {
  readonly repaired: readonly { readonly budget_key: string; readonly window: string; readonly source: string }[]
}

async function compareAndRepair(tx: Transaction, uses: readonly LedgerUse[], now: Instant): Promise<Repaired> {
  const [computed, stored] = [toComputed(uses), await readStored(tx, writeSortable(now))]
  const keys = [...new Set([...computed.keys(), ...stored.keys()])].toSorted()
  const mismatches: CounterMismatch[] = []
  const repaired: { budget_key: string; window: string; source: string }[] = []
  for (const budget_key of keys) {
    const [wanted, found] = [computed.get(budget_key), stored.get(budget_key)]
    // Only windows that ended, or reservations of such windows, are left.
    if (wanted === undefined && found !== undefined && !hasOpenAmounts(found, now)) continue
    if (isSame(wanted, found, now)) continue
    const window = wanted === undefined ? '' : windowAt(wanted.of.window, now).name
    const scale = wanted?.of.scale ?? 0
    const [have, want] = [totalOf(found), totalOf(wanted)]
    mismatches.push({ budget_key, window, stored: writeAmount(have, scale), computed: writeAmount(want, scale) })
    repaired.push({ budget_key, window, source: wanted?.row.source ?? found?.row?.source ?? '' })
    await replaceCounter(tx, budget_key, wanted, found)
  }
  return { checked: keys.length, mismatches, repaired }
}

function hasOpenAmounts({ row, sums, uses }: Stored, now: Instant): boolean {
  const identity: unknown = row === undefined ? undefined : readJson(row.identity_json)
  const at = writeSortable(now)
  const isOpen = [...sums.values()].some(({ amount, kept_until }) => amount !== '0' && kept_until > at)
  return isOpen || (identity === undefined && uses.length > 0)
}

/** Whether amounts and reservations are the same. When something was reported is not in the entries. */
function isSame(wanted: Computed | undefined, found: Stored | undefined, now: Instant): boolean {
  if (wanted !== undefined && found?.row === undefined) return false
  const slots = new Set([...(wanted?.sums.keys() ?? []), ...(found?.sums.keys() ?? [])])
  for (const slot of slots)
    if (String(wanted?.sums.get(slot) ?? 0n) !== (found?.sums.get(slot)?.amount ?? '0')) return false
  const open = (wanted?.uses ?? []).filter(({ state }) => state === 'open')
  const stored = (found?.uses ?? []).filter(
    ({ slot }) => wanted !== undefined && keptUntil(wanted.of.window, BigInt(slot)) > now,
  )
  const known = new Map(stored.map((use) => [use.store_sequence, use]))
  return (
    stored.length === open.length &&
    open.every((use) => {
      const same = known.get(use.store_sequence)
      return same?.asked === use.asked && same.live_until === use.live_until && same.slot === use.slot
    })
  )
}

function totalOf(counter: Computed | Stored | undefined): bigint {
  if (counter === undefined) return 0n
  const sums = [...counter.sums.values()].map((sum) => (typeof sum === 'bigint' ? sum : BigInt(sum.amount)))
  const open = counter.uses.filter(({ state }) => state === 'open').map(({ asked }) => BigInt(asked))
  return [...sums, ...open].reduce((all, each) => all + each, 0n)
}

async function replaceCounter(
  tx: Transaction,
  budget_key: string,
  wanted: Computed | undefined,
  found: Stored | undefined,
): Promise<void> {
  for (const table of ['budgets', 'budget_sums', 'budget_uses'] as const)
    await tx.query.deleteFrom(table).where('budget_key', '=', budget_key).execute()
  if (wanted === undefined) return
  const sums = [...wanted.sums].map(([slot, amount]) => ({
    budget_key,
    slot,
    amount: String(amount),
    reported: found?.sums.get(slot)?.reported ?? 0,
    kept_until: writeSortable(keptUntil(wanted.of.window, BigInt(slot))),
  }))
  const row = { ...wanted.row, overrun_until: found?.row?.overrun_until ?? null }
  await writeCounterRows(tx, { budgets: [row], sums, uses: wanted.uses, released: [] })
}

/** The answer of the route. */
export function checkJson({ checked, mismatches }: CounterCheck): JsonObject {
  return { verified: mismatches.length === 0, checked, mismatches: mismatches.map((each) => ({ ...each })) }
}
