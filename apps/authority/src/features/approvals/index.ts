import { Refusal, approvals } from '@chancery/contract'
import type { Approval, ApprovalStatus } from '@chancery/contract'
import {
  APPROVAL_STATES,
  type ApprovalStatement,
  type Instant,
  type JsonObject,
  approvalStateAt,
  asJson,
  meetsAny,
  writeSortable,
} from '@chancery/protocol'
import type { Call, Job } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import { bind } from '../../auth/access.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Feature } from '../../core.ts'
import { readForm } from '../../requests/read-fields.ts'
import { readChoiceFilter, readPage, readRows, writeCursor } from '../../requests/paging.ts'
import { BasisChangedError, findDecidedContext } from '../evidence/index.ts'
import type { SignedItem } from '../evidence/index.ts'
import { type ReadyDecision, readyDecision } from './append-effect.ts'
import { cancelOwn, countKey, listForApprover, showToApprover, status } from './asker.ts'
import { type ApprovedEvaluation, evaluateWithApprovals } from './deciding.ts'
import { ApproversUnknownError, type LockedRequest, type PreparedApproval, prepareApproval } from './locate.ts'
import { cancelApproval, expireApprovals } from './end-approval.ts'
import { type ApprovalsParts, requestOf } from './approvals-parts.ts'
import { type ChangedApproval, countEvent } from './events.ts'
import { sendNotices } from './notices.ts'
import { approvalList, countStates, findApproval } from './queries.ts'
import { findSigner, operatorSigner, readAttested } from './signers.ts'
import { auditRefusals, checkStatement, readStatement, storeStatement } from './statement.ts'
import { listLines, requireApproval, showApproval } from './view.ts'

export { findUndelivered } from './notices.ts'
export { countOpenApprovals, listWaiting } from './queries.ts'
export { budgetEffect } from './deciding.ts'
export type { ApprovalAsking, LockedRequest, PreparedApproval } from './locate.ts'
export type { ApprovalsParts } from './approvals-parts.ts'
export type { ChangedApproval } from './events.ts'

/**
 * GET /admin/approvals
 * Lists approvals, the oldest first: the pending ones, those of another state, or all.
 */
async function list(call: OperatorCall, parts: ApprovalsParts): Promise<JsonObject> {
  const state = readChoiceFilter(call.query, 'state', [...APPROVAL_STATES, 'all']) ?? 'pending'
  const page = readPage(call.query)
  const now = writeSortable(parts.clock.now())
  const { rows, last } = await readRows(approvalList(parts.database.read, state, now), page)
  const lines = await listLines(parts, rows)
  return {
    count: lines.length,
    approvals: lines.map((line) => asJson(line)),
    next_cursor: last === undefined ? null : writeCursor(last),
  }
}

/**
 * GET /admin/approvals/{approval_id}
 * Returns one approval with its signed records and the context of the decision.
 */
async function find(call: OperatorCall, parts: ApprovalsParts): Promise<JsonObject> {
  const row = await requireApproval(parts, call.params['approval_id'] ?? '')
  const context = await findDecidedContext(parts.database.read, row.decision_id)
  return { approval: asJson(await showApproval(parts, row)), context: context === undefined ? null : asJson(context) }
}

/**
 * POST /admin/approvals/{approval_id}/approve
 * POST /admin/approvals/{approval_id}/deny
 * Stores the statement of an operator. The signature of the call proves who sends it, that of the statement what it says.
 */
async function decide(
  call: OperatorCall,
  parts: ApprovalsParts,
  verdict: ApprovalStatement['verdict'],
): Promise<{ readonly approval: Approval }> {
  readForm(verdict === 'approve' ? approvals.approve.body : approvals.deny.body, call.body)
  const received = readStatement(call.body['statement'])
  return auditRefusals(call, parts, received, async () => {
    const row = await requireApproval(parts, call.params['approval_id'] ?? '')
    const known = operatorSigner(call, parts)
    await checkStatement(parts, row, received, known, verdict)
    await storeStatement(parts, row, { received, known, details: requestDetails(call) })
    return { approval: await showApproval(parts, await requireApproval(parts, row.approval_id)) }
  })
}

/**
 * POST /admin/approvals/{approval_id}/cancel
 * Ends an open approval. The reason is for the operator and is not stored: it may name what no log should have.
 */
async function cancel(call: OperatorCall, parts: ApprovalsParts): Promise<{ readonly approval: Approval }> {
  readForm(approvals.cancel.body, call.body)
  const row = await requireApproval(parts, call.params['approval_id'] ?? '')
  await cancelApproval(parts, row, 'operator', requestDetails(call))
  return { approval: await showApproval(parts, await requireApproval(parts, row.approval_id)) }
}

/**
 * POST /approvals/statement
 * Stores the statement of a member, or of a member of a partner. The statement is the proof.
 */
async function takeStatement(call: Call, parts: ApprovalsParts): Promise<JsonObject> {
  const received = readStatement(call.body['statement'])
  readForm(approvals.state.body, call.body)
  const asked = readAttested(call.body, parts.network.name)
  return auditRefusals(call, parts, received, async () => {
    const { approval_id } = received.record
    const row = await findApproval(parts.database.read, approval_id)
    const known = await findSigner(parts, asked)
    if (row === undefined || known === undefined || !meetsAny(requestOf(row), known.signer))
      throw new Refusal('approval_not_found')
    await checkStatement(parts, row, received, known, undefined)
    await countKey(parts, known.signer.public_key)
    await storeStatement(parts, row, { received, known, details: requestDetails(call) })
    const after = await requireApproval(parts, approval_id)
    return { approval_id, state: approvalStateAt(after, parts.clock.now()) }
  })
}

/** How often the jobs run. An approval past its end is written down, and its budgets released, within a minute. */
const EXPIRY_SECONDS = 30
const WEBHOOK_SECONDS = 2

/** Open approvals as they were last written. No label names one. */
function registerGauge({ database, metrics }: ApprovalsParts): void {
  metrics.registry.rows({
    name: 'chancery_approvals',
    help: 'Open approvals by state.',
    kind: 'gauge',
    labels: ['state'],
    collect: async () => {
      const counts = await countStates(database.read)
      return (['pending', 'approved'] as const).map((state) => ({ labels: { state }, value: counts.get(state) ?? 0 }))
    },
  })
}

/** What decisions need of approvals, besides the routes. */
export interface Approvals extends Feature {
  /** Looks at the approvers of a named approval, before the locks. */
  prepare(named: string | undefined): Promise<PreparedApproval>
  /** Evaluates a request under the locks. Throws BasisChangedError when it has to be read again. */
  evaluate(request: LockedRequest): Promise<ApprovedEvaluation>
  /** Signs what an evaluation opens, and the decision with it. */
  ready(
    approved: ApprovedEvaluation,
    now: Instant,
    sign: (status: ApprovalStatus | undefined) => Promise<SignedItem>,
  ): Promise<ReadyDecision>
  /** Counts events after their commit. */
  count(changed: readonly ChangedApproval[]): void
}

async function evaluateOrReadAgain(parts: ApprovalsParts, request: LockedRequest): Promise<ApprovedEvaluation> {
  try {
    return await evaluateWithApprovals(parts, request)
  } catch (error) {
    if (error instanceof ApproversUnknownError) throw new BasisChangedError(error.message, { cause: error })
    throw error
  }
}

export function openApprovals(parts: ApprovalsParts): Approvals {
  registerGauge(parts)
  const webhook: Job = {
    name: 'approval-webhook',
    everySeconds: WEBHOOK_SECONDS,
    run: (signal) => sendNotices(parts, signal),
  }
  return {
    routes: [
      bind(approvals.list, (call) => list(call, parts)),
      bind(approvals.find, (call) => find(call, parts)),
      bind(approvals.approve, (call) => decide(call, parts, 'approve')),
      bind(approvals.deny, (call) => decide(call, parts, 'deny')),
      bind(approvals.cancel, (call) => cancel(call, parts)),
      bind(approvals.status, (call) => status(call, parts)),
      bind(approvals.cancelOwn, (call) => cancelOwn(call, parts)),
      bind(approvals.listForApprover, (call) => listForApprover(call, parts)),
      bind(approvals.showToApprover, (call) => showToApprover(call, parts)),
      bind(approvals.state, (call) => takeStatement(call, parts)),
    ],
    jobs: [
      { name: 'approval-expiry', everySeconds: EXPIRY_SECONDS, run: (signal) => expireApprovals(parts, signal) },
      ...(parts.settings.approvalWebhookUrl === undefined ? [] : [webhook]),
    ],
    prepare: (named) => prepareApproval(parts, named),
    evaluate: (request) => evaluateOrReadAgain(parts, request),
    ready: (approved, now, sign) => readyDecision(parts, approved, now, sign),
    count: (changed) => {
      for (const each of changed) countEvent(parts, each)
    },
    close: () => Promise.resolve(),
  }
}
