import { type ApprovalStatus, type ApproverAttestation, approvals } from '@chancery/contract'
import type { ListedApproval, Route } from '@chancery/contract'
import {
  APPROVAL_STATEMENT_TYPE,
  type ApprovalRequest,
  type ApprovalStatement,
  type Instant,
  type JsonObject,
  type NodeAction,
  type Read,
  type ReadBy,
  type Signer,
  type StatedApprover,
  approvalRequestForm,
  approvalStatementForm,
  asReceived,
  receivedDigest,
  signForm,
  writeInstant,
} from '@chancery/protocol'
import type { CallOptions, Connection } from '../http/call.ts'
import { requireNode } from '../http/node-signing.ts'
import { json, nameTexts, omitUndefined } from '../http/read-response.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'
import { systemClock } from '../http/system-clock.ts'

type ByNode = 'status' | 'cancelOwn' | 'listForApprover' | 'showToApprover'
type ShownApproval = ReadBy<typeof approvals.showToApprover.answer>

/**
 * `list`, `find`, `approve`, `deny` and `cancel`: as operator; make a statement with `signApproval`. `status` and
 * `cancelOwn`: with the node key that asked. `listForApprover` and `showToApprover`: with the node key of an attestation
 * that may approve. `state`: a statement of its holder, which is the proof.
 */
export interface ApprovalsApi extends Omit<RouteApi<typeof approvals>, ByNode> {
  status(approval_id: string, options?: CallOptions): Promise<ApprovalStatus>
  cancelOwn(approval_id: string, options?: CallOptions): Promise<ApprovalStatus>
  listForApprover(
    attestation: ApproverAttestation,
    options?: CallOptions,
  ): Promise<{ readonly count: number; readonly approvals: readonly ListedApproval[] }>
  showToApprover(
    asked: ApproverAttestation & { readonly approval_id: string },
    options?: CallOptions,
  ): Promise<ShownApproval>
}

export function approvalsApi(connection: Connection): ApprovalsApi {
  const { call, node } = connection
  const post = <Answer>(
    route: Route,
    read: Read<Answer>,
    action: NodeAction,
    members: JsonObject,
    options: CallOptions | undefined,
  ): Promise<Answer> => {
    const caller = requireNode(node, 'a request about an approval')
    return call({
      route,
      body: (now) => caller.prove(action, members, now),
      repeatable: action !== 'approval-cancel',
      read: json((value) => read(value, '')),
      options,
    })
  }
  const attested = (given: JsonObject): JsonObject => nameTexts(omitUndefined(given), approvals.state)
  return {
    ...routeApi(approvals, connection),
    status: (approval_id, options) =>
      post(approvals.status, approvals.status.answer, 'approval-status', { approval_id }, options),
    cancelOwn: (approval_id, options) =>
      post(approvals.cancelOwn, approvals.cancelOwn.answer, 'approval-cancel', { approval_id }, options),
    listForApprover: (given, options) =>
      post(
        approvals.listForApprover,
        approvals.listForApprover.answer,
        'approval-list',
        attested(given as JsonObject),
        options,
      ),
    showToApprover: (given, options) =>
      post(
        approvals.showToApprover,
        approvals.showToApprover.answer,
        'approval-show',
        attested(given as JsonObject),
        options,
      ),
  }
}

export interface ApprovalAnswer {
  readonly verdict: 'approve' | 'deny'
  readonly reason?: string
  /** `operator` with the key id of the signer; `member` or `partner` with the id of the attestation. */
  readonly approver: StatedApprover
  readonly now?: Instant
}

/**
 * Signs what a person says to a held request. Show the person the request first, and give it here as it was received:
 * the statement is bound to its digest.
 */
export function signApproval(
  request: ApprovalRequest,
  signer: Signer,
  answer: ApprovalAnswer,
): Promise<ApprovalStatement> {
  const { verdict, approver, reason = null, now = systemClock() } = answer
  const draft: ApprovalStatement = {
    type: APPROVAL_STATEMENT_TYPE,
    statement_id: crypto.randomUUID(),
    approval_id: request.approval_id,
    approval_request_digest: receivedDigest(asReceived(approvalRequestForm, request)),
    verdict,
    approver,
    public_key: signer.publicKey,
    stated_at: writeInstant(now),
    reason,
    signature: null,
  }
  return signForm(approvalStatementForm, draft, signer, approver.id)
}
