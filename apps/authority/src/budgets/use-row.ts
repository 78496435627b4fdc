import {
  type BudgetUse,
  type Instant,
  asJson,
  canonicalJson,
  instantOf,
  liveUntil,
  windowAt,
  writeSortable,
} from '@chancery/protocol'
import type { Tables } from '../database/tables.ts'
import { keptUntil } from './slots.ts'

/** Microseconds; a reservation that ends at an instant is not live at it. */
const TICK = 1n

/** A use that counts, as a decision or the entries of the store say. */
export interface CountingUse {
  readonly use: BudgetUse
  readonly store_sequence: number
  readonly decision_id: string
  readonly slot: bigint
  readonly validUntil: Instant
  /** Undefined for a use that counts; otherwise the approval that reserves it. */
  readonly approval: { readonly approval_id: string; readonly until: Instant; readonly isEnded: boolean } | undefined
  readonly outcomes: { readonly isDone: boolean; readonly isFailed: boolean }
}

/** The row of a use. */
export function toUseRow(counting: CountingUse): Tables['budget_uses'] {
  const { use, store_sequence, decision_id, slot, validUntil, approval } = counting
  const live = lastLive(counting)
  const windowEnd = keptUntil(use.window, slot)
  const kept = live !== undefined && live > windowEnd ? live : windowEnd
  return {
    budget_key: use.budget_key,
    store_sequence,
    decision_id,
    slot: Number(slot),
    asked: String(use.asked),
    state: live === undefined ? 'counted' : approval?.isEnded === true ? 'released' : 'open',
    live_until: live === undefined ? null : writeSortable(live),
    valid_until: writeSortable(validUntil),
    settle_json: approval === undefined && use.settle !== null ? canonicalJson(asJson(use.settle)) : null,
    approval_id: approval?.approval_id ?? null,
    kept_until: writeSortable(kept),
  }
}

/** The last instant at which it counts; undefined: it counts for good. */
function lastLive({ use, validUntil, approval, outcomes }: CountingUse): Instant | undefined {
  if (approval !== undefined) return approval.until - TICK
  if (use.settle === null || outcomes.isDone) return undefined
  return liveUntil(validUntil, use.settle, outcomes.isFailed)
}

/** The row of a counter after a use of it. */
export function toBudgetRow(
  { budget_key, source, measure, per, unit, window, counts, limit }: BudgetUse,
  made: { readonly requester: string; readonly madeAt: Instant; readonly kept: string },
  before: Tables['budgets'] | undefined,
): Tables['budgets'] {
  const windowEnd = writeSortable(instantOf(windowAt(window, made.madeAt).until))
  const open_until = [before?.open_until ?? '', windowEnd, made.kept].toSorted().at(-1) ?? windowEnd
  return {
    budget_key,
    source,
    requester: before?.requester ?? made.requester,
    identity_json: canonicalJson({ measure, per, unit, window: asJson(window) }),
    counts,
    last_limit: String(limit),
    open_until,
    overrun_until: before?.overrun_until ?? null,
  }
}
