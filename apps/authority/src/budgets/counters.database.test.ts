import { randomUUID } from 'node:crypto'
import { type BudgetUse, instantOf, sha256Hex } from '@chancery/protocol'
import { type TestAuthority, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { extendReservations, readCounterRows, releaseReservations } from './counter-rows.ts'
import { LockedCounters } from './counters.ts'
import { settleExecution } from './settle-execution.ts'

const AT = '2026-03-05T12:00:00Z'
const WINDOW = { kind: 'calendar', unit: 'year' } as const
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

function useOf(settle: BudgetUse['settle'] = null): BudgetUse {
  const budget_key = sha256Hex(randomUUID())
  const counts = settle === null ? 'on_allow' : 'on_execution'
  const asked = { asked: 5n, limit: 10n, used_before: 0n, counts, settle, scale: 0 } as const
  return {
    budget_key,
    source: 'policy:p/g',
    measure: { kind: 'count' },
    per: {},
    unit: null,
    window: WINDOW,
    ...asked,
    inputs: {},
  }
}

const head = { last_sequence: 0, budget_sequence: 0, last_recorded_at: null }
const settings = { budgetsMax: 100, budgetWarningPercent: 80 }
const decision = (decision_id: string) => ({ decision_id, requester: 'agent-7', madeAt: AT })

let entries = 0

/** Counts or reserves one use in a transaction, which fails at its end where the test says so. */
async function count(use: BudgetUse, effect: Parameters<LockedCounters['add']>[2], decision_id: string, fails = false) {
  await na.core.database.write(async (tx) => {
    const now = instantOf(AT)
    const counters = await LockedCounters.read(tx, settings, {
      keys: [use.budget_key],
      requesters: ['agent-7'],
      now,
      head,
    })
    for (const placed of counters.add([use], decision(decision_id), effect)) placed.store_sequence = entries += 1
    await counters.write(tx)
    if (fails) throw new Error('rolled back')
  })
}

const counted = { kind: 'counted', validUntil: '2026-03-05T12:05:00Z' } as const
const stateOf = async (use: BudgetUse, at = AT) =>
  na.core.database.write(async (tx) => {
    const counters = await LockedCounters.read(tx, settings, {
      keys: [use.budget_key],
      requesters: [],
      now: instantOf(at),
      head,
    })
    const { budget_key, source, window } = use
    return counters.forDecision('agent-7').read({ budget_key, source, window, at: instantOf(at) })
  })

describe('counters', () => {
  it('have what was committed, and nothing of a transaction that was rolled back', async () => {
    const use = useOf()
    await count(use, counted, randomUUID())
    await expect(count(use, counted, randomUUID(), true)).rejects.toThrow('rolled back')
    expect(await stateOf(use)).toEqual({ used: 5n, reserved: 0n, replaces: null })
  })

  it('reserve for an approval until it ends, and leave it out for the request that names it', async () => {
    const use = useOf()
    const approval_id = randomUUID()
    const held = {
      kind: 'held',
      validUntil: counted.validUntil,
      approval_id,
      expires_at: '2026-03-06T12:00:00Z',
    } as const
    await count(use, held, randomUUID())
    expect(await stateOf(use)).toEqual({ used: 5n, reserved: 5n, replaces: null })
    expect(await stateOf(use, '2026-03-06T12:00:00Z')).toMatchObject({ used: 0n })
    await na.core.database.write((tx) => extendReservations(tx, approval_id, '2026-03-07T12:00:00.000000Z'))
    expect(await stateOf(use, '2026-03-06T12:00:00Z')).toMatchObject({ used: 5n })
    await na.core.database.write((tx) => releaseReservations(tx, [approval_id]))
    expect(await stateOf(use)).toMatchObject({ used: 0n })
  })

  it('are final after success by an executor of the budget, and not after another report', async () => {
    const use = useOf({ executors: ['own'], seconds: 600 })
    const decision_id = randomUUID()
    await count(use, counted, decision_id)
    const report = (executor_sovereign_id: string, outcome: 'success' | 'failure') =>
      na.core.database.write((tx) =>
        settleExecution(tx, { decision_id, executor_sovereign_id, outcome }, '2026-03-05T12:01:00.000000Z'),
      )
    await report('other', 'failure')
    expect(await stateOf(use, '2026-03-05T12:10:00Z')).toMatchObject({ used: 5n, reserved: 5n })
    await report('own', 'failure')
    expect(await stateOf(use, '2026-03-05T12:05:01Z')).toMatchObject({ used: 0n })
    await report('own', 'success')
    expect(await stateOf(use, '2026-06-05T12:00:00Z')).toEqual({ used: 5n, reserved: 0n, replaces: null })
    const rows = await readCounterRows(na.core.database, [use.budget_key], '')
    expect(rows.sums).toMatchObject([{ amount: '5' }])
  })
})
