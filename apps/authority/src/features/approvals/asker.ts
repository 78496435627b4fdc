import { Refusal, approvals } from '@chancery/contract'
import type { ApprovalStatus, ListedApproval } from '@chancery/contract'
import {
  type JsonObject,
  type NodeAction,
  approvalStateAt,
  isExcluded,
  meetsAny,
  readJson,
  writeSortable,
} from '@chancery/protocol'
import { type Call, readRecordTexts } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import { authenticateNode, refuseNode } from '../../auth/node.ts'
import { consumeNonce } from '../../auth/nonces.ts'
import { readForm } from '../../requests/read-fields.ts'
import { cancelApproval } from './end-approval.ts'
import { type ApprovalsParts, requestOf } from './approvals-parts.ts'
import { type ApprovalRow, findApproval, listPending } from './queries.ts'
import { type KnownSigner, findSigner, readAttested, requireKey } from './signers.ts'
import { listLines, requireApproval, toStatus } from './view.ts'

/**
 * POST /approvals/status
 * Returns the state of an approval to the key that asked. Every other key gets the answer for an unknown id.
 */
export async function status(call: Call, parts: ApprovalsParts): Promise<ApprovalStatus> {
  const { approval_id } = readForm(approvals.status.body, call.body)
  const key = await proveKey(call, parts, 'approval-status')
  return toStatus(await requireOwn(parts, approval_id, key), parts.clock.now())
}

/**
 * POST /approvals/cancel
 * Ends an open approval for the key that asked.
 */
export async function cancelOwn(call: Call, parts: ApprovalsParts): Promise<ApprovalStatus> {
  const { approval_id } = readForm(approvals.cancelOwn.body, call.body)
  const key = await proveKey(call, parts, 'approval-cancel')
  await cancelApproval(parts, await requireOwn(parts, approval_id, key), 'asker', requestDetails(call))
  return toStatus(await requireApproval(parts, approval_id), parts.clock.now())
}

/** Pending approvals that are looked at for one approver. */
const MAX_PENDING = 1000

/**
 * POST /approvals/list
 * Lists the pending approvals that the holder of an attestation may give.
 */
export async function listForApprover(
  call: Call,
  parts: ApprovalsParts,
): Promise<{ readonly count: number; readonly approvals: readonly ListedApproval[] }> {
  const { known } = await proveApprover(call, parts, 'approval-list')
  const pending = await listPending(parts.database.read, writeSortable(parts.clock.now()), MAX_PENDING)
  const lines = await listLines(
    parts,
    pending.filter((row) => mayApprove(row, known)),
  )
  return { count: lines.length, approvals: lines }
}

/**
 * POST /approvals/show
 * Returns the signed request to the holder of an attestation that may approve it.
 */
export async function showToApprover(call: Call, parts: ApprovalsParts): Promise<JsonObject> {
  const { known, body } = await proveApprover(call, parts, 'approval-show')
  const { approval_id } = readForm(approvals.showToApprover.body, body)
  const row = await findApproval(parts.database.read, approval_id)
  if (row === undefined || !mayApprove(row, known)) throw new Refusal('approval_not_found')
  return {
    approval_request: readJson(row.request_json),
    approval_request_digest: row.record_digest,
    state: approvalStateAt(row, parts.clock.now()),
  }
}

function mayApprove(row: ApprovalRow, { signer }: KnownSigner): boolean {
  const request = requestOf(row)
  return meetsAny(request, signer) && !isExcluded(request, JSON.parse(row.excluded_keys) as string[], signer)
}

async function requireOwn(parts: ApprovalsParts, approval_id: string, key: string): Promise<ApprovalRow> {
  const row = await requireApproval(parts, approval_id)
  if (row.asker !== `node:${key}`) throw new Refusal('approval_not_found')
  return row
}

/** The key of a caller, counted and its nonce spent. The state of an approval is no secret of its asker: no certificate is needed. */
async function proveKey(call: Call, parts: ApprovalsParts, action: NodeAction): Promise<string> {
  const { nonce, signedAt } = await authenticateNode(call, parts, action)
  // Its proof verified, so it is the text of a key.
  const { node_public_key: key } = call.body as { readonly node_public_key: string }
  await countKey(parts, key)
  if (!(await consumeNonce(parts.nonces, `node:${key}`, nonce, signedAt)))
    return refuseNode(call, parts, action, 'nonce_replay', nonce)
  return key
}

async function proveApprover(
  call: Call,
  parts: ApprovalsParts,
  action: 'approval-list' | 'approval-show',
): Promise<{ readonly known: KnownSigner; readonly body: JsonObject }> {
  const route = action === 'approval-list' ? approvals.listForApprover : approvals.showToApprover
  const body = readRecordTexts(call.body, { records: { 'presented.attestation': 'invalid_attestation' } })
  readForm(route.body, body)
  const asked = readAttested(body, parts.network.name)
  const key = await proveKey(call, parts, action)
  return { known: requireKey(await findSigner(parts, asked), key), body }
}

/** After the signature, so that no caller can use up the limit of another key. */
export async function countKey({ limits }: Pick<ApprovalsParts, 'limits'>, key: string): Promise<void> {
  if (!(await limits.shared.hit(`approval-key ${key}`, limits.perMinute.approval)))
    throw new Refusal('rate_limit_exceeded')
}
