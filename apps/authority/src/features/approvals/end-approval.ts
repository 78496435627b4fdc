import { Refusal } from '@chancery/contract'
import { type ApprovalCause, type JsonObject, approvalStateAt, isOpenState, writeSortable } from '@chancery/protocol'
import { releaseReservations } from '../../budgets/counter-rows.ts'
import type { Transaction } from '../../database/database.ts'
import { withLease } from '../../database/locks/leases.ts'
import { appendExpired } from './append-effect.ts'
import type { ApprovalsParts } from './approvals-parts.ts'
import { type ChangedApproval, type EntrySink, countEvent, storeEvent } from './events.ts'
import { type ApprovalRow, findApproval, listOverdue, removeOld } from './queries.ts'

/** Cancels an open approval, and releases what it reserved. */
export async function cancelApproval(
  parts: ApprovalsParts,
  { approval_id, decision_id }: ApprovalRow,
  cause: ApprovalCause,
  details: JsonObject,
): Promise<void> {
  await endOne(parts, { approval_id, decision_id }, async (tx, sink, row) => {
    const now = parts.clock.now()
    const state = approvalStateAt(row, now)
    if (!isOpenState(state)) throw new Refusal('approval_closed', { state })
    return {
      event: 'cancelled',
      row: await storeEvent(tx, sink, parts, row, { event: 'cancelled', cause, details }, now),
      at: now,
    }
  })
}

type End = (tx: Transaction, sink: EntrySink, row: ApprovalRow) => Promise<ChangedApproval | undefined>

async function endOne(
  parts: ApprovalsParts,
  { approval_id, decision_id }: Pick<ApprovalRow, 'approval_id' | 'decision_id'>,
  end: End,
): Promise<void> {
  let changed: ChangedApproval | undefined
  const change = async (tx: Transaction, sink: EntrySink): Promise<void> => {
    const row = await findApproval(tx.query, approval_id)
    if (row === undefined) throw new Refusal('approval_not_found')
    changed = await end(tx, sink, row)
    if (changed !== undefined) await releaseReservations(tx, [approval_id])
  }
  await parts.evidence.append({ kind: 'change', decision_id, change })
  if (changed !== undefined) countEvent(parts, changed)
}

const AT_ONCE = 200
const LEASE_SECONDS = 120
const RUN_MS = 50_000

/** Ends approvals whose time is over, and removes those that ended long ago. Each check before it already counts them as expired. */
export async function expireApprovals(parts: ApprovalsParts, signal: AbortSignal): Promise<void> {
  const { clock, database, settings } = parts
  if (!settings.evidenceStore) return
  await withLease(parts, 'approval-expiry', LEASE_SECONDS, async () => {
    const endMs = clock.monotonicMs() + RUN_MS
    const isEnd = (): boolean => signal.aborted || clock.monotonicMs() >= endMs
    for (let found = AT_ONCE; found === AT_ONCE && !isEnd();) {
      const rows = await listOverdue(database.read, writeSortable(clock.now()), AT_ONCE)
      for (const row of rows) {
        if (isEnd()) return
        await endOne(parts, row, async (tx, sink, current) => {
          const now = clock.now()
          const isOver = isOpenState(current.state) && approvalStateAt(current, now) === 'expired'
          return isOver ? appendExpired(tx, sink, parts, current, now) : undefined
        })
      }
      found = rows.length
    }
    await database.write((tx) => removeOld(tx, clock.now()))
  })
}
