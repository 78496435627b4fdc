import { type JsonObject, USAGE_VIOLATION_SUBJECT, asJson, canonicalJson } from '@chancery/protocol'
import type { Transaction } from '../../database/database.ts'
import { type Attempt, type StoredResponse, storeResponse } from '../../requests/idempotency.ts'
import type { AppendBatch } from './append-batch.ts'
import { findEarlierAnswer } from './claim-decision.ts'

/** Violations of a data license that an operator had checked. */
export interface ViolationItem {
  readonly kind: 'usage_violation'
  /** C(UsageViolationRecord). */
  readonly payload: string
  readonly verdict: JsonObject
  /** Of the audit event. */
  readonly details: JsonObject
  readonly attempt: Attempt | undefined
}

/** The response has the verdict and the entry. */
export async function appendViolation(
  tx: Transaction,
  batch: AppendBatch,
  { payload, verdict, details, attempt }: ViolationItem,
): Promise<StoredResponse | Error> {
  const earlier = attempt && (await findEarlierAnswer(tx, attempt, batch.now))
  if (earlier !== undefined) return earlier
  const { entry, entry_digest } = batch.append(USAGE_VIOLATION_SUBJECT, payload, null)
  const { store_sequence } = entry
  batch.addEvent({ type: 'data_usage_violation_recorded', details: { ...details, store_sequence } })
  const answer = { status: 201, text: canonicalJson({ ...verdict, entry: asJson(entry), entry_digest }) }
  if (attempt !== undefined) await storeResponse(tx, attempt, answer)
  return answer
}
