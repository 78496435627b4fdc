import { asJson, canonicalJson, decisionSubject } from '@chancery/protocol'
import type { BoundaryDecision, ContextRecord, JustificationProof } from '@chancery/protocol'
import type { AuditEvent } from '../../audit/record.ts'
import type { Transaction } from '../../database/database.ts'
import { type StoredResponse, storeDecisionResponse } from '../../requests/idempotency.ts'
import type { AppendBatch } from './append-batch.ts'
import type { DecisionClaim } from './claim-decision.ts'
import { decisionFacts } from './decision-facts.ts'

/** A signed decision with its inputs. The entries of its justification follow it directly. */
export interface DecisionItem extends DecisionClaim {
  readonly kind: 'decision'
  readonly decision: BoundaryDecision
  readonly context: ContextRecord
  readonly proof?: JustificationProof
  /** C of decision and proof, where the deciding route has them. */
  readonly texts?: { readonly decision: string; readonly proof: string }
  /** C of the attestation of a partner that the decision is based on. It is stored nowhere else. */
  readonly attestation?: string
  /** The audit events of the deciding route, stored in the same transaction. */
  readonly events: readonly AuditEvent[]
}

/** Appends a decision whose key and nonce are claimed, and its justification directly after it. */
export async function appendDecision(
  tx: Transaction,
  batch: AppendBatch,
  item: Omit<DecisionItem, 'kind' | 'basisVersion'>,
): Promise<StoredResponse> {
  const { decision, proof, texts } = item
  const context = canonicalJson(asJson(item.context))
  const subject = decisionSubject({ decision, context: item.context })
  // C({ context, decision }), and before them the attestation of a partner.
  const presented = item.attestation === undefined ? '' : `"attestation":${item.attestation},`
  const payload = `{${presented}"context":${context},"decision":${texts?.decision ?? canonicalJson(asJson(decision))}}`
  const { entry } = batch.append(subject, payload, null, decisionFacts(decision, item.context))
  const { store_sequence } = entry
  if (item.attempt !== undefined)
    await storeDecisionResponse(tx, item.attempt, item.answer, { context, store_sequence })
  if (proof !== undefined)
    batch.append({ ...subject, entry_kind: 'justification' }, texts?.proof ?? canonicalJson(asJson(proof)), null)
  const { decision_id } = decision
  batch.addEvent({ type: 'decision_stored', details: { decision_id, store_sequence } })
  for (const event of item.events) batch.addEvent(event)
  return item.answer
}
