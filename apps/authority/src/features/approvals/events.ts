import type { AuditEventType } from '@chancery/contract'
import {
  type ApprovalCause,
  type ApprovalEntry,
  type ApprovalEvent,
  type ApprovalParties,
  type ApprovalRequest,
  type ApprovalState,
  type Instant,
  type JsonObject,
  type VerifiedApprover,
  approvalSubject,
  asJson,
  canonicalJson,
  instantOf,
  isOpenState,
  readJson,
  writeInstant,
  writeSortable,
} from '@chancery/protocol'
import type { Transaction } from '../../database/database.ts'
import { type ApprovalsParts, requestOf, titlesOf } from './approvals-parts.ts'
import { insertNotice } from './notices.ts'
import { type ApprovalRow, updateApproval } from './queries.ts'

/** Where entries and events of a transaction are collected. */
export interface EntrySink {
  append(subject: ReturnType<typeof approvalSubject>, payload: string, record_digest: null): unknown
  addEvent(event: { readonly type: AuditEventType; readonly details: JsonObject }): void
}

/** One event of an approval, with what its entry carries. */
export interface ApprovalChange {
  readonly event: ApprovalEvent
  readonly statement?: JsonObject
  readonly approver?: VerifiedApprover
  readonly use_until?: Instant
  readonly cause?: ApprovalCause
  /** Of `used`: the authorized decision. */
  readonly usedBy?: { readonly decision_id: string; readonly parties: ApprovalParties }
  /** Further members of the audit event. */
  readonly details?: JsonObject
}

interface HistoryLine {
  readonly event: ApprovalEvent
  readonly at: string
}

export function historyOf({ history_json }: Pick<ApprovalRow, 'history_json'>): readonly HistoryLine[] {
  return JSON.parse(history_json) as readonly HistoryLine[]
}

type EventParts = Pick<ApprovalsParts, 'ids' | 'network' | 'settings'>

/**
 * Stores an event of an approval: its entry, its audit event, the new state of the row, and the notice for the webhook,
 * all in one transaction. The row of `requested` is stored by its caller. Returns the row as it is then.
 */
export async function storeEvent(
  tx: Transaction,
  sink: EntrySink,
  parts: EventParts,
  row: ApprovalRow,
  change: ApprovalChange,
  now: Instant,
): Promise<ApprovalRow> {
  const { event } = change
  const at = writeInstant(now)
  const request = requestOf(row)
  const state: ApprovalState = event === 'requested' || event === 'stated' ? 'pending' : event
  const decision_id = change.usedBy?.decision_id ?? row.decision_id
  const entry: ApprovalEntry = {
    approval_id: row.approval_id,
    event,
    at,
    state,
    decision_id,
    approval_request: event === 'requested' ? (readJson(row.request_json) as JsonObject) : null,
    statement: change.statement ?? null,
    approver: change.approver ?? null,
    use_until: change.use_until === undefined ? null : writeInstant(change.use_until),
    cause: change.cause ?? null,
  }
  const parties = change.usedBy?.parties ?? (JSON.parse(row.parties_json) as ApprovalParties)
  sink.append(approvalSubject(entry, parties), canonicalJson(asJson(entry)), null)
  sink.addEvent({ type: `approval_${event}`, details: detailsOf(request, entry, change) })
  const history = [...(event === 'requested' ? [] : historyOf(row)), { event, at }]
  const changes = {
    state,
    history_json: JSON.stringify(history),
    ...(change.use_until === undefined ? {} : { use_until: writeSortable(change.use_until) }),
    ...(isOpenState(state) ? {} : { ended_at: writeSortable(now) }),
    ...(change.cause === undefined ? {} : { cause: change.cause }),
    ...(change.usedBy === undefined ? {} : { used_by_decision_id: change.usedBy.decision_id }),
  }
  await updateApproval(tx, row.approval_id, changes)
  if (event !== 'stated') await insertNotice(tx, parts, request, { event, at, position: history.length, now })
  return { ...row, ...changes }
}

/** Ids, codes, key ids and titles; never a parameter or a reason. */
function detailsOf(request: ApprovalRequest, entry: ApprovalEntry, change: ApprovalChange): JsonObject {
  const { approval_id, decision_id, use_until, cause, approver, event } = entry
  const statement_id = change.statement?.['statement_id']
  return {
    approval_id,
    decision_id,
    titles: titlesOf(request),
    ...(event === 'requested' ? { expires_at: request.expires_at } : {}),
    ...(statement_id === undefined ? {} : { statement_id }),
    ...(approver === null ? {} : { approver_kind: approver.kind, approver_id: approver.id }),
    ...(use_until === null ? {} : { use_until }),
    ...(cause === null ? {} : { cause }),
    ...change.details,
  }
}

/** An event that is committed. */
export interface ChangedApproval {
  readonly event: ApprovalEvent
  readonly row: ApprovalRow
  readonly at: Instant
}

/** Counts an event after its commit, and how long a person took. */
export function countEvent({ metrics }: Pick<ApprovalsParts, 'metrics'>, { event, row, at }: ChangedApproval): void {
  metrics.approvals.with({ event }).increase()
  if (event !== 'approved' && event !== 'denied') return
  metrics.approvalWait.observe(Number(at - instantOf(row.opened_at)) / 1e6)
}
