import { type Approval, type ApprovalStatus, type ListedApproval, Refusal } from '@chancery/contract'
import {
  type ApprovalSigner,
  type ApprovalStatement,
  type Instant,
  approvalStateAt,
  isOpenState,
  listNeeds,
  readJson,
} from '@chancery/protocol'
import { toWireTime } from '../../requests/list-position.ts'
import { type ApprovalsParts, requestOf, titlesOf } from './approvals-parts.ts'
import { historyOf } from './events.ts'
import { type ApprovalRow, type StatementRow, findApproval, listStatements } from './queries.ts'

/** Seconds after which a caller asks again. */
const POLL_SECONDS = 5

/** What every answer says of an approval. */
export function toStatus(row: ApprovalRow, now: Instant): ApprovalStatus {
  const state = approvalStateAt(row, now)
  return {
    approval_id: row.approval_id,
    state,
    expires_at: toWireTime(row.expires_at),
    use_until: toWireTime(row.use_until),
    poll_after_seconds: isOpenState(state) ? POLL_SECONDS : 0,
  }
}

/** Statements that approve, by whom. */
export function signersOf(statements: readonly StatementRow[]): readonly ApprovalSigner[] {
  return statements
    .filter(({ verdict }) => verdict === 'approve')
    .map(({ signer_json }) => JSON.parse(signer_json) as ApprovalSigner)
}

export async function requireApproval(
  { database }: Pick<ApprovalsParts, 'database'>,
  approval_id: string,
): Promise<ApprovalRow> {
  const row = await findApproval(database.read, approval_id)
  if (row === undefined) throw new Refusal('approval_not_found')
  return row
}

/** One approval with its signed records, as operators see it. */
export async function showApproval(
  parts: Pick<ApprovalsParts, 'clock' | 'database'>,
  row: ApprovalRow,
): Promise<Approval> {
  const request = requestOf(row)
  const statements = await listStatements(parts.database.read, [row.approval_id])
  return {
    approval_id: row.approval_id,
    state: approvalStateAt(row, parts.clock.now()),
    approval_request: request,
    approval_request_digest: row.record_digest,
    // As they were received: their readers checked them then.
    statements: statements.map(({ statement_json }) => readJson(statement_json) as unknown as ApprovalStatement),
    needed: listNeeds(request, signersOf(statements)).map((each) => ({ ...each })),
    use_until: toWireTime(row.use_until),
    decision_id: row.decision_id,
    used_by_decision_id: row.used_by_decision_id,
    cause: row.cause,
    history: historyOf(row),
  }
}

/** Lines of a list. They have no parameter of a request. */
export async function listLines(
  { clock, database }: Pick<ApprovalsParts, 'clock' | 'database'>,
  rows: readonly ApprovalRow[],
): Promise<readonly ListedApproval[]> {
  const now = clock.now()
  const ids = rows.map(({ approval_id }) => approval_id)
  const statements = Map.groupBy(await listStatements(database.read, ids), ({ approval_id }) => approval_id)
  return rows.map((row) => {
    const request = requestOf(row)
    const needs = listNeeds(request, signersOf(statements.get(row.approval_id) ?? []))
    return {
      approval_id: row.approval_id,
      state: approvalStateAt(row, now),
      opened_at: request.opened_at,
      expires_at: request.expires_at,
      requested_capability: request.requested_capability,
      requester_sovereign_id: request.requester_sovereign_id,
      subject_id: request.subject_id,
      titles: titlesOf(request),
      needed: needs.reduce((sum, { count }) => sum + count, 0),
      given: needs.reduce((sum, { given }) => sum + given, 0),
    }
  })
}
