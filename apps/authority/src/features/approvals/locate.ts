import {
  type ApprovalCause,
  type ApprovalFacts,
  type Asker,
  type Attestation,
  type BudgetCounters,
  type CheckedPolicy,
  type ContextRecord,
  type Evaluation,
  type Facts,
  type FoundApproval,
  type Instant,
  type NeededApproval,
  type ShownApproval,
  type ShownStatement,
  NO_APPROVAL,
  approvalStateAt,
  isApprovalCurrent,
  seconds,
  writeSortable,
} from '@chancery/protocol'
import type { LockedCounters } from '../../budgets/counters.ts'
import type { Transaction } from '../../database/database.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { type ApprovalsParts, requestOf } from './approvals-parts.ts'
import {
  type ApprovalRow,
  type StatementRow,
  countOpen,
  findApproval,
  findDenied,
  findOpen,
  listStatements,
} from './queries.ts'
import { isStillApprover } from './signers.ts'

/** What a request says about approvals besides its context. */
export interface ApprovalAsking {
  readonly asker: Asker
  readonly resource_id: string | null
  /** The approval that the request names. */
  readonly named: string | undefined
  /** Public key of an operator that asks; of a node it is its id. */
  readonly askerKey: string
  readonly attestation: Attestation | undefined
}

/** The named approval as it was before the locks, with what was found out about its approvers. */
export interface PreparedApproval {
  /** Statements that were looked at; undefined when it was not approved. */
  readonly statements: readonly string[] | undefined
  readonly areApprovers: boolean
}

const UNPREPARED: PreparedApproval = { statements: undefined, areApprovers: false }

/**
 * Looks at the approvers of the named approval, before the locks: it reads keys, attestations and treaties. A revocation
 * that comes later changes the basis of the decision, which is then made again.
 */
export async function prepareApproval(parts: ApprovalsParts, named: string | undefined): Promise<PreparedApproval> {
  const row = named === undefined ? undefined : await findApproval(parts.database.read, named)
  if (row?.state !== 'approved') return UNPREPARED
  const request = requestOf(row)
  const statements = await listStatements(parts.database.read, [row.approval_id])
  let areApprovers = true
  for (const each of statements) areApprovers &&= await isStillApprover(parts, request, each)
  return { statements: statements.map(({ statement_id }) => statement_id), areApprovers }
}

/** One decision under locks. */
export interface LockedRequest {
  readonly tx: Transaction
  readonly now: Instant
  readonly counters: LockedCounters
  readonly requester: string
  readonly decision_id: string
  readonly policies: readonly CheckedPolicy[]
  /** Of this time, without counters and approvals. */
  readonly facts: Facts
  readonly context: ContextRecord
  readonly asking: ApprovalAsking
  readonly prepared: PreparedApproval
  evaluate(state: {
    readonly budgets: BudgetCounters & { readonly isIncomplete: boolean }
    readonly approvals: ApprovalFacts
  }): Evaluation
}

/** The approved state changed between reading the approvers and the locks: everything is read again. */
export class ApproversUnknownError extends Error {
  override readonly name = 'ApproversUnknownError'
}

export type Located =
  | { readonly kind: 'open'; readonly overdue: ApprovalRow | undefined }
  | {
      readonly kind: 'found'
      readonly found: FoundApproval
      readonly row: ApprovalRow | undefined
      readonly cancel?: ApprovalCause
    }

export interface Sought {
  readonly digest: string
  readonly needed: readonly NeededApproval[]
}

/** Which approval the request has, or that one is to be opened. */
export function locate(parts: ApprovalsParts, request: LockedRequest, sought: Sought): Promise<Located> {
  const { named } = request.asking
  return named === undefined ? locateOpen(parts, request, sought) : locateNamed(request, sought, named)
}

async function locateNamed(request: LockedRequest, { digest, needed }: Sought, named: string): Promise<Located> {
  const { tx, now, asking, prepared } = request
  const row = await findApproval(tx.query, named)
  if (row === undefined || row.asker !== askerText(asking.asker) || row.request_digest !== digest)
    return {
      kind: 'found',
      row: undefined,
      found: { outcome: 'mismatch', shown: { ...NO_APPROVAL, request_digest: digest } },
    }
  const state = approvalStateAt(row, now)
  if (state !== 'approved') return foundIn(tx, row, state === 'pending' ? 'required' : state, state)
  const statements = await listStatements(tx.query, [row.approval_id])
  const ids = statements.map(({ statement_id }) => statement_id)
  if (prepared.statements?.join() !== ids.join()) throw new ApproversUnknownError('the approval was given meanwhile')
  if (!prepared.areApprovers)
    return { ...(await foundIn(tx, row, 'cancelled', 'cancelled')), cancel: 'approver_revoked' }
  if (!isApprovalCurrent(requestOf(row), needed))
    return { ...(await foundIn(tx, row, 'stale', 'cancelled')), cancel: 'policy_changed' }
  return foundIn(tx, row, 'approved', 'used')
}

/** Denials of one subject after which none of its requests opens an approval. */
const MAX_DENIED = 10

async function locateOpen(parts: ApprovalsParts, request: LockedRequest, { digest }: Sought): Promise<Located> {
  const { tx, now, asking } = request
  const { settings } = parts
  const row = await findOpen(tx.query, digest)
  const state = row === undefined ? undefined : approvalStateAt(row, now)
  if (row !== undefined && (state === 'pending' || state === 'approved')) return foundIn(tx, row, 'required', state)
  const since = writeSortable(now - seconds(settings.approvalDenyHoldSeconds))
  const denied = await findDenied(tx.query, digest, since)
  if (denied !== undefined) return foundIn(tx, denied, 'denied', 'denied')
  const [asker, subject] = [askerText(asking.asker), subjectText(asking)]
  const counts = await countOpen(tx.query, { asker, subject, now: writeSortable(now), since })
  const most = settings.approvalsMaxPendingPerAsker
  const isOver =
    counts.all >= settings.approvalsMaxPending ||
    // A gateway asks for many subjects with one operator key.
    (asking.asker.kind === 'node' && counts.ofAsker >= most) ||
    counts.ofSubject >= most ||
    counts.denied >= MAX_DENIED
  if (isOver)
    return {
      kind: 'found',
      row: undefined,
      found: { outcome: 'limit', shown: { ...NO_APPROVAL, request_digest: digest } },
    }
  return { kind: 'open', overdue: row }
}

async function foundIn(
  tx: Transaction,
  row: ApprovalRow,
  outcome: FoundApproval['outcome'],
  state: ShownApproval['state'],
): Promise<Located & { readonly kind: 'found' }> {
  const statements = await listStatements(tx.query, [row.approval_id])
  return { kind: 'found', row, found: { outcome, shown: { ...shownOf(row, statements), state } } }
}

export function shownOf(row: ApprovalRow, statements: readonly StatementRow[]): ShownApproval {
  return {
    approval_id: row.approval_id,
    state: row.state,
    request_digest: row.request_digest,
    approval_request_digest: row.record_digest,
    expires_at: toWireTime(row.expires_at),
    use_until: toWireTime(row.use_until),
    statements: statements.map(toShownStatement),
  }
}

function toShownStatement({ statement_id, statement_digest, statement_json }: StatementRow): ShownStatement {
  const { approver } = JSON.parse(statement_json) as {
    approver: Omit<ShownStatement, 'statement_id' | 'statement_digest'>
  }
  return { statement_id, statement_digest, kind: approver.kind, id: approver.id, sovereign_id: approver.sovereign_id }
}

export function askerText({ kind, id }: Asker): string {
  return `${kind}:${id}`
}

export function subjectText({ attestation }: ApprovalAsking): string | null {
  return attestation === undefined ? null : JSON.stringify([attestation.issuer_sovereign_id, attestation.subject_id])
}
