import type { ApprovalStatus } from '@chancery/contract'
import { type Instant, approvalRequestForm, asJson, canonicalJson, decisionSubject } from '@chancery/protocol'
import type { Transaction } from '../../database/database.ts'
import type { SignedItem } from '../evidence/index.ts'
import type { ApprovalEffect, ApprovedEvaluation } from './deciding.ts'
import type { ApprovalsParts } from './approvals-parts.ts'
import { type ChangedApproval, type EntrySink, storeEvent } from './events.ts'
import { type ApprovalRow, storeSignedRequest } from './queries.ts'
import { toStatus } from './view.ts'

/** A signed decision, and what is appended behind it for its approval. */
export interface ReadyDecision {
  readonly signed: SignedItem
  readonly append: ((tx: Transaction, sink: EntrySink) => Promise<readonly ChangedApproval[]>) | undefined
}

/** Signs the decision, and at the same time the request of an approval that it opens. */
export async function readyDecision(
  parts: ApprovalsParts,
  { effect, named }: Pick<ApprovedEvaluation, 'effect' | 'named'>,
  now: Instant,
  sign: (status: ApprovalStatus | undefined) => Promise<SignedItem>,
): Promise<ReadyDecision> {
  const row = effect === undefined ? named : rowAfter(effect)
  const status = row && toStatus(row, now)
  if (effect?.kind !== 'opened') {
    const signed = await sign(status)
    const append = effect && ((tx: Transaction, sink: EntrySink) => appendEnd(tx, sink, parts, effect, signed, now))
    return { signed, append }
  }
  const { draft, overdue } = effect
  const [signed, request] = await Promise.all([
    sign(status),
    parts.signing.signFormOr('boundary_eval_failed', approvalRequestForm, draft),
  ])
  const opened = { ...effect.row, request_json: canonicalJson(asJson(request)) }
  return {
    signed,
    async append(tx, sink) {
      const ended = overdue === undefined ? [] : [await appendExpired(tx, sink, parts, overdue, now)]
      await storeSignedRequest(tx, opened.approval_id, opened.request_json)
      const after = await storeEvent(tx, sink, parts, opened, { event: 'requested' }, now)
      return [...ended, { event: 'requested', row: after, at: now }]
    },
  }
}

function rowAfter(effect: ApprovalEffect): ApprovalRow {
  return effect.kind === 'opened' ? effect.row : { ...effect.row, state: effect.kind }
}

async function appendEnd(
  tx: Transaction,
  sink: EntrySink,
  parts: ApprovalsParts,
  effect: Exclude<ApprovalEffect, { readonly kind: 'opened' }>,
  { decision, context }: SignedItem,
  now: Instant,
): Promise<readonly ChangedApproval[]> {
  const usedBy = { decision_id: decision.decision_id, parties: decisionSubject({ decision, context }) }
  const change =
    effect.kind === 'used'
      ? ({ event: 'used', usedBy } as const)
      : ({ event: 'cancelled', cause: effect.cause } as const)
  return [{ event: change.event, row: await storeEvent(tx, sink, parts, effect.row, change, now), at: now }]
}

/** Writes down that the time of an open approval is over. */
export async function appendExpired(
  tx: Transaction,
  sink: EntrySink,
  parts: Pick<ApprovalsParts, 'ids' | 'network' | 'settings'>,
  row: ApprovalRow,
  now: Instant,
): Promise<ChangedApproval> {
  const cause = row.state === 'pending' ? 'time_limit' : 'use_limit'
  return { event: 'expired', row: await storeEvent(tx, sink, parts, row, { event: 'expired', cause }, now), at: now }
}
