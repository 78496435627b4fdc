import {
  type ApprovalCause,
  type ApprovalFacts,
  type ApprovalParties,
  type ApprovalRequest,
  type BoundFacts,
  type Evaluation,
  type FoundApproval,
  type NeededApproval,
  approvalRequestForm,
  approvalStateAt,
  approvalUseKeys,
  asJson,
  asReceived,
  canonicalJson,
  draftApprovalRequest,
  instantOf,
  isOpenState,
  mayAskPerson,
  planApprovals,
  receivedDigest,
  requestDigest,
  unboundOf,
  usedKeys,
  writeSortable,
} from '@chancery/protocol'
import type { ApprovalsParts } from './approvals-parts.ts'
import type { EvaluatedDecision } from '../evidence/index.ts'
import { type LockedRequest, type Located, askerText, locate, shownOf, subjectText } from './locate.ts'
import { type ApprovalRow, findUses, insertApproval, storeUses, updateApproval } from './queries.ts'

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

/** How the budgets of a decision count: at once, held with the approval that it opened, or not. */
export function budgetEffect(
  { authorized }: Evaluation,
  effect: ApprovalEffect | undefined,
  validUntil: string,
): EvaluatedDecision['effect'] {
  if (authorized) return { kind: 'counted', validUntil }
  if (effect?.kind !== 'opened') return undefined
  const { approval_id, expires_at } = effect.row
  return { kind: 'held', validUntil, approval_id, expires_at }
}
