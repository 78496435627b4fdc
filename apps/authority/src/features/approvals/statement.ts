import { Refusal } from '@chancery/contract'
import {
  type ApprovalRequest,
  type ApprovalSigner,
  type ApprovalStatement,
  CLOCK_TOLERANCE,
  type JsonObject,
  type JsonValue,
  type Received,
  approvalStateAt,
  areMet,
  canonicalJson,
  instantOf,
  isExcluded,
  isSameSigner,
  listNeeds,
  meetsAny,
  readApprovalStatement,
  receivedDigest,
  seconds,
  verifyReceivedSignature,
  writeSortable,
} from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { extendReservations, releaseReservations } from '../../budgets/counter-rows.ts'
import type { Transaction } from '../../database/database.ts'
import { readOrRefuse } from '../../requests/read-fields.ts'
import { requestOf } from './approvals-parts.ts'
import { countEvent, storeEvent } from './events.ts'
import type { ApprovalsParts } from './approvals-parts.ts'
import type { ChangedApproval, EntrySink } from './events.ts'
import { type ApprovalRow, findApproval, findStatement, insertStatement, listStatements } from './queries.ts'
import type { KnownSigner } from './signers.ts'

export function readStatement(value: JsonValue | undefined): Received<ApprovalStatement> {
  return readOrRefuse('invalid_statement', () => readApprovalStatement(value ?? null))
}

/** A statement after its checks 1 to 8, ready to be stored. */
export interface CheckedStatement {
  readonly received: Received<ApprovalStatement>
  readonly known: KnownSigner
  readonly details: JsonObject
}

/** Rows 3 to 8 of protocol/approvals 7, in this order. */
export async function checkStatement(
  parts: Pick<ApprovalsParts, 'clock' | 'network'>,
  row: ApprovalRow,
  received: Received<ApprovalStatement>,
  { signer, approver }: KnownSigner,
  verdict: ApprovalStatement['verdict'] | undefined,
): Promise<void> {
  const { record } = received
  const rejected = (reason: string): Refusal => new Refusal('statement_rejected', { reason })
  if (verdict !== undefined && record.verdict !== verdict) throw rejected('verdict_mismatch')
  const { kind, id, sovereign_id } = record.approver
  if (kind !== approver.kind || id !== approver.id || sovereign_id !== approver.sovereign_id)
    throw rejected('approver_mismatch')
  if (record.approval_id !== row.approval_id || record.approval_request_digest !== row.record_digest)
    throw rejected('digest_mismatch')
  const age = parts.clock.now() - instantOf(record.stated_at)
  if (age > CLOCK_TOLERANCE || age < -CLOCK_TOLERANCE) throw rejected('stale')
  // The key first: a statement under another key verifies, but no known person signed it.
  if (record.public_key !== signer.public_key || !(await verifyReceivedSignature(received, [signer.public_key])))
    throw rejected('signature_invalid')
  const request = requestOf(row)
  if (isExcluded(request, JSON.parse(row.excluded_keys) as string[], signer)) throw new Refusal('approver_is_requester')
  if (!meetsAny(request, signer)) throw new Refusal('not_an_approver')
}

/** Rows 9 to 11, and the event that follows from the statement, in one transaction under the lock of the store. */
export async function storeStatement(
  parts: ApprovalsParts,
  { approval_id, decision_id }: ApprovalRow,
  statement: CheckedStatement,
): Promise<void> {
  let changed: ChangedApproval | undefined
  const change = async (tx: Transaction, sink: EntrySink): Promise<void> => {
    changed = await applyStatement(tx, sink, parts, approval_id, statement)
  }
  await parts.evidence.append({ kind: 'change', decision_id, change })
  if (changed !== undefined) countEvent(parts, changed)
}

async function applyStatement(
  tx: Transaction,
  sink: EntrySink,
  parts: ApprovalsParts,
  approval_id: string,
  { received, known, details }: CheckedStatement,
): Promise<ChangedApproval | undefined> {
  const { record, wire } = received
  const statement_json = canonicalJson(wire)
  const row = await findApproval(tx.query, approval_id)
  if (row === undefined) throw new Refusal('approval_not_found')
  const same = await findStatement(tx.query, record.statement_id)
  if (same !== undefined) {
    if (same.statement_json !== statement_json) throw new Refusal('conflict')
    return undefined
  }
  const now = parts.clock.now()
  const state = approvalStateAt(row, now)
  if (state !== 'pending') throw new Refusal('approval_closed', { state })
  const before = await listStatements(tx.query, [approval_id])
  const signers = before.map(({ signer_json }) => JSON.parse(signer_json) as ApprovalSigner)
  if (record.verdict === 'approve' && signers.some((each) => isSameSigner(each, known.signer))) return undefined
  await insertStatement(tx, {
    statement_id: record.statement_id,
    approval_id,
    position: before.length + 1,
    verdict: record.verdict,
    signer_json: JSON.stringify(known.signer),
    attestation_json: known.attestation_json,
    statement_json,
    statement_digest: receivedDigest(received),
  })
  const event = eventAfter(requestOf(row), record.verdict, [...signers, known.signer])
  const use_until = event === 'approved' ? now + seconds(row.use_seconds) : undefined
  const ended = { event, statement: wire, approver: known.approver, details }
  const after = await storeEvent(
    tx,
    sink,
    parts,
    row,
    { ...ended, ...(use_until === undefined ? {} : { use_until }) },
    now,
  )
  if (event === 'denied') await releaseReservations(tx, [approval_id])
  if (use_until !== undefined) await extendReservations(tx, approval_id, writeSortable(use_until - 1n))
  return { event, row: after, at: now }
}

/** One deny of an eligible approver ends it; the last needed approval gives it. */
function eventAfter(
  request: ApprovalRequest,
  verdict: ApprovalStatement['verdict'],
  signers: readonly ApprovalSigner[],
): 'stated' | 'approved' | 'denied' {
  if (verdict === 'deny') return 'denied'
  return areMet(listNeeds(request, signers)) ? 'approved' : 'stated'
}

const REFUSED: ReadonlySet<string> = new Set([
  'approval_closed',
  'approver_is_requester',
  'conflict',
  'not_an_approver',
  'statement_rejected',
])

/** Audits the refusal of a statement. Its number is limited. */
export async function auditRefusals<Result>(
  call: Call | OperatorCall,
  parts: Pick<ApprovalsParts, 'audit'>,
  { record }: Received<ApprovalStatement>,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal && REFUSED.has(error.code)) {
      const { reason } = error.details
      const details: JsonObject = {
        approval_id: record.approval_id,
        code: error.code,
        ...(reason === undefined ? {} : { reason }),
        approver_id: record.approver.id,
        ...requestDetails(call),
      }
      const key = 'operator' in call ? call.operator.key_id : undefined
      await parts.audit.recordRefusal({ type: 'approval_statement_refused', details }, call, key)
    }
    throw error
  }
}
