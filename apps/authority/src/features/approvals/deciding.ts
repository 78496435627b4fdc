import {
  type ApprovalCause,
  type ApprovalFacts,
  type ApprovalParties,
  type ApprovalRequest,
  type Asker,
  type Attestation,
  type BoundFacts,
  type CheckedPolicy,
  type ContextRecord,
  type Evaluation,
  type Facts,
  type FoundApproval,
  type Instant,
  type NeededApproval,
  type ShownApproval,
  type ShownStatement,
  type BudgetCounters,
  NO_APPROVAL,
  approvalRequestForm,
  approvalStateAt,
  approvalUseKeys,
  asJson,
  asReceived,
  canonicalJson,
  draftApprovalRequest,
  instantOf,
  isApprovalCurrent,
  isOpenState,
  mayAskPerson,
  planApprovals,
  receivedDigest,
  requestDigest,
  seconds,
  unboundOf,
  usedKeys,
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
  findUses,
  insertApproval,
  listStatements,
  storeUses,
  updateApproval,
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

/** What becomes of an approval with a decision. Its row is changed already; its entries are appended with the decision. */
export type ApprovalEffect =
  | {
      readonly kind: 'opened'
      readonly row: ApprovalRow
      readonly draft: ApprovalRequest
      readonly overdue: ApprovalRow | undefined
    }
  | { readonly kind: 'used'; readonly row: ApprovalRow }
  | { readonly kind: 'cancelled'; readonly row: ApprovalRow; readonly cause: ApprovalCause }

export interface ApprovedEvaluation {
  readonly evaluation: Evaluation
  readonly effect: ApprovalEffect | undefined
  /** The row that the answer shows. */
  readonly named: ApprovalRow | undefined
  /** A counter was asked for that is not locked. */
  readonly isIncomplete: boolean
}

/** The approved state changed between reading the approvers and the locks: everything is read again. */
export class ApproversUnknownError extends Error {
  override readonly name = 'ApproversUnknownError'
}

/** Evaluates a request whose policies may ask a person, under the lock of the store (protocol/approvals 6 and 8). */
export async function evaluateWithApprovals(
  parts: ApprovalsParts,
  request: LockedRequest,
): Promise<ApprovedEvaluation> {
  const { tx, now, policies, facts } = request
  const keys = mayAskPerson(policies) ? approvalUseKeys(policies, facts, now) : []
  const uses = await findUses(tx.query, keys)
  const known = { ...facts, approvals: { uses, found: undefined } }
  const { needed, isBlocked } = planApprovals(policies, known, now)
  if (needed.length === 0 || isBlocked) return without(request, uses)
  const bound = boundOf(request, needed)
  const digest = requestDigest(bound)
  const located = await locate(parts, request, { digest, needed })
  return located.kind === 'open'
    ? open(parts, request, { uses, needed, bound, digest, overdue: located.overdue })
    : withFound(request, { uses, needed, located })
}

type Uses = ApprovalFacts['uses']

/** No gate asks a person, or a gate denies already. */
function without(request: LockedRequest, uses: Uses): ApprovedEvaluation {
  const budgets = request.counters.forDecision(request.requester)
  const evaluation = request.evaluate({ budgets, approvals: { uses, found: undefined } })
  return { evaluation, effect: undefined, named: undefined, isIncomplete: budgets.isIncomplete }
}

function boundOf({ context, asking }: LockedRequest, needed: readonly NeededApproval[]): BoundFacts {
  const { asker, attestation, resource_id } = asking
  return {
    asker,
    context,
    issuer_sovereign_id: attestation?.issuer_sovereign_id ?? null,
    subject_id: attestation?.subject_id ?? null,
    resource_id,
    unbound: unboundOf(needed),
  }
}

type Located =
  | { readonly kind: 'open'; readonly overdue: ApprovalRow | undefined }
  | {
      readonly kind: 'found'
      readonly found: FoundApproval
      readonly row: ApprovalRow | undefined
      readonly cancel?: ApprovalCause
    }

interface Sought {
  readonly digest: string
  readonly needed: readonly NeededApproval[]
}

/** Which approval the request has, or that one is to be opened. */
function locate(parts: ApprovalsParts, request: LockedRequest, sought: Sought): Promise<Located> {
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

function shownOf(row: ApprovalRow, statements: readonly StatementRow[]): ShownApproval {
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

interface FoundState {
  readonly uses: Uses
  readonly needed: readonly NeededApproval[]
  readonly located: Located & { readonly kind: 'found' }
}

/** There is an approval, or none may be opened. */
async function withFound(
  request: LockedRequest,
  { uses, needed, located: { found, row, cancel } }: FoundState,
): Promise<ApprovedEvaluation> {
  const { tx, now, counters, requester } = request
  const isReserved = row !== undefined && isOpenState(approvalStateAt(row, now))
  const budgets = counters.forDecision(requester, isReserved ? row.approval_id : null)
  const evaluation = request.evaluate({ budgets, approvals: { uses, found } })
  const isReached = evaluation.steps.some(
    ({ gate_type, metadata, passed }) => gate_type === 'approval.v1' && !passed && metadata['outcome'] === 'fail',
  )
  const done = { evaluation, named: row, isIncomplete: budgets.isIncomplete }
  if (row === undefined) return { ...done, effect: undefined }
  if (cancel !== undefined && isReached) {
    await end(request, row, { state: 'cancelled', cause: cancel })
    return { ...done, effect: { kind: 'cancelled', row, cause: cancel } }
  }
  if (found.outcome !== 'approved' || !evaluation.authorized) return { ...done, effect: undefined }
  await end(request, row, { state: 'used', used_by_decision_id: request.decision_id })
  await storeUses(tx, usedKeys(needed, request.facts), writeSortable(now))
  return { ...done, effect: { kind: 'used', row } }
}

/** At once, so that a later decision of the same transaction sees it. */
async function end(
  { tx, counters }: LockedRequest,
  { approval_id }: ApprovalRow,
  changes: Parameters<typeof updateApproval>[2],
): Promise<void> {
  await updateApproval(tx, approval_id, changes)
  counters.release(approval_id)
}

interface Opening {
  readonly uses: Uses
  readonly needed: readonly NeededApproval[]
  readonly bound: BoundFacts
  readonly digest: string
  readonly overdue: ApprovalRow | undefined
}

/** Opens an approval when nothing but gates that ask a person denies the request. */
async function open(parts: ApprovalsParts, request: LockedRequest, opening: Opening): Promise<ApprovedEvaluation> {
  const { tx, now, counters, requester } = request
  const { uses, needed, bound, overdue } = opening
  const budgets = counters.forDecision(requester)
  const first = request.evaluate({ budgets, approvals: { uses, found: undefined } })
  const { isIncomplete } = budgets
  const denials = first.steps.filter(({ denial }) => denial !== undefined)
  const isAskedOnly =
    denials.length > 0 &&
    denials.every(({ gate_type, metadata }) => gate_type === 'approval.v1' && metadata['outcome'] === 'not_reached')
  if (!isAskedOnly) return { evaluation: first, effect: undefined, named: undefined, isIncomplete }
  const draft = draftApprovalRequest({
    approval_id: parts.ids.uuid(),
    decision_id: request.decision_id,
    bound,
    context_digest: first.policy_binding.context_digest,
    facts: request.facts,
    needed,
    steps: first.steps,
    operator_sovereign_id: parts.network.name,
    issued_by: parts.signing.keyId,
    now,
  })
  const row = rowOf(request, opening, draft)
  // Its time is over, and its place is free for the new one.
  if (overdue !== undefined) await end(request, overdue, { state: 'expired' })
  await insertApproval(tx, row)
  const again = counters.forDecision(requester)
  const found: FoundApproval = { outcome: 'required', shown: shownOf(row, []) }
  const evaluation = request.evaluate({ budgets: again, approvals: { uses, found } })
  return { evaluation, effect: { kind: 'opened', row, draft, overdue }, named: row, isIncomplete }
}

function rowOf({ asking, context }: LockedRequest, { needed, digest }: Opening, draft: ApprovalRequest): ApprovalRow {
  const { attestation, asker, askerKey } = asking
  const keys = [askerKey, attestation?.subject_public_key ?? null].filter((key) => key !== null)
  const sortable = (text: string): string => writeSortable(instantOf(text))
  const parties: ApprovalParties = {
    context_id: context.context_id,
    vendor_id: attestation?.subject_id ?? context.requester_sovereign_id,
    attestation_id: context.attestation_id ?? null,
    capability: context.requested_capability,
  }
  return {
    approval_id: draft.approval_id,
    request_digest: digest,
    asker: askerText(asker),
    subject: subjectText(asking),
    excluded_keys: JSON.stringify([...new Set(keys)]),
    state: 'pending',
    opened_at: sortable(draft.opened_at),
    expires_at: sortable(draft.expires_at),
    use_seconds: Math.min(...needed.map(({ rule }) => rule.useWithinSeconds)),
    use_until: null,
    ended_at: null,
    cause: null,
    decision_id: draft.decision_id,
    used_by_decision_id: null,
    parties_json: JSON.stringify(parties),
    // Signed with the decision; the digest does not change by it.
    request_json: canonicalJson(asJson(draft)),
    record_digest: receivedDigest(asReceived(approvalRequestForm, draft)),
    history_json: '[]',
  }
}

function askerText({ kind, id }: Asker): string {
  return `${kind}:${id}`
}

function subjectText({ attestation }: ApprovalAsking): string | null {
  return attestation === undefined ? null : JSON.stringify([attestation.issuer_sovereign_id, attestation.subject_id])
}
