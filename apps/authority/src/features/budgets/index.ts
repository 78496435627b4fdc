import { budgets } from '@chancery/contract'
import { type Instant, type JsonObject, writeInstant, writeSortable } from '@chancery/protocol'
import { type Finding, bad, warn } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { readCounterRows } from '../../budgets/counter-rows.ts'
import { percentOf, readCounter, usedOf, windowEnd } from '../../budgets/view.ts'
import type { Feature } from '../../core.ts'
import { deleteInParts } from '../../database/large-tables.ts'
import { withLease } from '../../database/locks/leases.ts'
import { readEvidenceHead } from '../evidence/index.ts'
import { countStates, list, show } from './list.ts'
import { readForm } from '../../requests/read-fields.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { findReported, listOverruns, readCheckTime, storeCheckTime, wasRepaired } from './queries.ts'
import { type BudgetsParts, checkJson, verifyCounters } from './verify-counters.ts'
import { sql } from 'kysely'

export interface Budgets extends Feature {
  /** What needs attention. */
  find(): Promise<readonly Finding[]>
}

/**
 * POST /admin/budgets/verify
 * Computes the counters of all open windows again from the evidence store. A counter that differs is repaired.
 */
async function verify(call: OperatorCall, parts: BudgetsParts): Promise<JsonObject> {
  readForm(budgets.verify.body, call.body)
  return checkJson(await verifyAndCount(parts))
}

async function verifyAndCount(parts: BudgetsParts): ReturnType<typeof verifyCounters> {
  const check = await verifyCounters(parts)
  parts.metrics.budgetMismatches.increase(check.mismatches.length)
  if (check.mismatches.length > 0)
    parts.log.warn('counters of budgets differed from the evidence store', { counters: check.mismatches.length })
  await parts.database.write((tx) => storeCheckTime(tx, parts.clock.now(), check.mismatches.length > 0))
  return check
}

const LEASE_SECONDS = 600
const SECOND = 1_000_000n

/** After a start, when the counters lack entries, and then from time to time on one instance. */
async function checkWhenDue(parts: BudgetsParts, state: { isChecked: boolean }): Promise<void> {
  if (!parts.settings.evidenceStore) return
  const head = await readEvidenceHead(parts.database.read)
  const isBehind = head.budget_sequence !== head.last_sequence
  const last = await readCheckTime(parts.database.read)
  const isDue = last === undefined || parts.clock.now() - last >= BigInt(parts.settings.budgetCheckSeconds) * SECOND
  if (state.isChecked && !isBehind && !isDue) return
  await withLease(parts, 'budget-check', LEASE_SECONDS, async () => {
    await verifyAndCount(parts)
    state.isChecked = true
  })
}

const DAY_SECONDS = 86_400n

/** Rows of windows that ended a day ago. A clock that is set back within the day finds them. */
async function removeEnded({ database, clock }: BudgetsParts, signal: AbortSignal): Promise<void> {
  const before = writeSortable(clock.now() - DAY_SECONDS * SECOND)
  await deleteInParts(database, 'budget_uses', sql`kept_until <= ${before}`, signal)
  await deleteInParts(database, 'budget_sums', sql`kept_until <= ${before}`, signal)
  await deleteInParts(database, 'budgets', sql`open_until <= ${before}`, signal)
}

const MAX_FINDINGS = 50

async function find(parts: BudgetsParts): Promise<readonly Finding[]> {
  const now = parts.clock.now()
  const at = writeSortable(now)
  const policies = await parts.boundaryPolicies.active.read()
  const inForce = policies.some(({ ready }) => ready?.gates.some(({ budget }) => budget !== undefined) === true)
  return [
    ...(await findUsed(parts, now)),
    ...(await listOverruns(parts.database.read, at, MAX_FINDINGS)).map(({ source, overrun_until }) =>
      overrun(source, toWireTime(overrun_until)),
    ),
    ...(inForce && parts.settings.boundaryPolicyEnforcement === 'optional' ? [BYPASS] : []),
    ...(await findRepaired(parts)),
  ]
}

function overrun(source: string, at: string | null): Finding {
  return bad(
    'budget_overrun',
    `The budget ${source} is used above its limit`,
    'Find the late reports: chancery budget show KEY. Give executors more time with settle_seconds.',
    {
      effect: 'An amount was released, given to others, and then used.',
      about: source,
      ...(at === null ? {} : { at }),
    },
  )
}

const BYPASS = warn(
  'budget_bypass',
  'Budgets are in force, and decisions without policies are possible',
  'Set BOUNDARY_POLICY_ENFORCEMENT=required.',
  { effect: 'POST /admin/boundary/decide uses no policy, so no budget limits it.' },
)

/** Counters from the percent of the warning, those that end first before the others. */
async function findUsed({ database, settings }: BudgetsParts, now: Instant): Promise<readonly Finding[]> {
  const reported = await findReported(database.read, writeSortable(now), MAX_FINDINGS)
  const rows = await readCounterRows(
    database,
    reported.map(({ budget_key }) => budget_key),
    writeSortable(now),
  )
  return reported.flatMap((row) => {
    const counter = readCounter(row)
    const percent = percentOf(usedOf(counter, rows, now).used, counter.limit)
    if (percent < settings.budgetWarningPercent) return []
    const { source } = row
    const options = { about: source, at: writeInstant(windowEnd(counter, now)) }
    const fix =
      'Publish a version of the policy, or replace the treaty, with a higher limit; or wait for the next window.'
    return [
      percent >= 100
        ? bad('budget', `The budget ${source} is used up`, fix, { effect: 'Further requests are denied.', ...options })
        : warn('budget', `The budget ${source} is used to ${percent} %`, fix, {
            effect: 'At its limit requests are denied.',
            ...options,
          }),
    ]
  })
}

async function findRepaired({ database }: BudgetsParts): Promise<readonly Finding[]> {
  if (!(await wasRepaired(database.read))) return []
  return [
    bad(
      'budget_state',
      'The last check found counters that differed from the evidence store, and repaired them',
      'Find out who changed the database: audit event budget_state_repaired.',
      { effect: 'Requests may have been allowed above a limit since the check before.' },
    ),
  ]
}

export function openBudgets(parts: BudgetsParts): Budgets {
  const state = { isChecked: false }
  countStates(parts)
  return {
    routes: [
      bind(budgets.list, (call) => list(call, parts)),
      bind(budgets.show, (call) => show(call, parts)),
      bind(budgets.verify, (call) => verify(call, parts)),
    ],
    jobs: [
      { name: 'budget-check', everySeconds: 60, run: () => checkWhenDue(parts, state) },
      { name: 'budget-removal', everySeconds: 600, run: (signal) => removeEnded(parts, signal) },
    ],
    find: () => find(parts),
    close: () => Promise.resolve(),
  }
}
