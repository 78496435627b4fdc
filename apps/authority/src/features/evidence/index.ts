import type { BoundaryDecision, ContextRecord, JustificationProof } from '@chancery/protocol'
import { writeSortable } from '@chancery/protocol'
import { recordAudits } from '../../audit/record.ts'
import type { AuditEvent } from '../../audit/record.ts'
import type { Office } from '../../office.ts'
import { findAnswer, keepAnswer } from '../../store/idempotency.ts'
import type { Attempt, StoredAnswer } from '../../store/idempotency.ts'

export { findLogFault } from '../evidence-log/index.ts'
export { listDecidedContexts } from './decided-contexts.ts'
export { measureUnanchored } from './unanchored.ts'

/** A signed decision on its way out, with everything that must be kept before it leaves. */
export interface MadeDecision {
  readonly decision: BoundaryDecision
  readonly context: ContextRecord
  readonly proof?: JustificationProof
  readonly events: readonly AuditEvent[]
  readonly attempt: Attempt | undefined
  /** What the caller is answered. */
  readonly answer: StoredAnswer
}

/**
 * Keeps a decision before it is answered, and gives the answer: with the store on, decision and justification enter
 * the chain, together with the audit events and the idempotency record; with the store off only these two are kept.
 * When the store cannot take it the decision never leaves: 503 evidence_store_unavailable.
 */
export async function recordDecision(office: Office, made: MadeDecision): Promise<StoredAnswer> {
  if (office.settings.evidenceStore)
    return office.evidence.append(office, { kind: 'decision', ...made, proof: made.proof })
  const { attempt } = made
  if (attempt === undefined) {
    await office.auditDesk.add(made.events)
    return made.answer
  }
  return office.store.transact(async (tx) => {
    const earlier = await findAnswer(tx, attempt, writeSortable(office.clock.now()))
    if (earlier !== undefined) return earlier
    await keepAnswer(tx, attempt, made.answer)
    await recordAudits(tx, office, made.events)
    return made.answer
  })
}
