import { Refusal } from '@chancery/contract'
import { type NonceClaim, spendNonceInside } from '../../auth/nonces.ts'
import type { Transaction } from '../../database/database.ts'
import { type BasisVersion, holdBasisVersion } from '../../database/locks/decision-basis.ts'
import { findStoredResponse, forgetAttempt, storeResponse } from '../../requests/idempotency.ts'
import type { Attempt, StoredResponse } from '../../requests/idempotency.ts'
import { type JsonObject, USAGE_VIOLATION_SUBJECT, asJson, canonicalJson, writeSortable } from '@chancery/protocol'
import type { AppendBatch } from './append-batch.ts'
import { Batcher, endOfLoopTurn } from '@chancery/service-kit'
import type { AuditEvent } from '../../audit/record.ts'
import type { EvidenceState } from './resources.ts'

/** What the transaction checks that stores a decision. */
export interface DecisionClaim {
  readonly decision: { readonly authorized: boolean }
  /** Read before the basis of the decision was. */
  readonly basisVersion: BasisVersion
  readonly attempt: Attempt | undefined
  /** The nonce of the caller of a relay, spent with the decision and not without it. */
  readonly callerNonce?: NonceClaim | undefined
  /** The response to the caller. */
  readonly answer: StoredResponse
}

/** Something that an allowed decision may be based on has changed since it was read. Nothing was stored: decide again. */
export class BasisChangedError extends Error {
  override readonly name = 'BasisChangedError'
}

/** The response to an earlier call with this key, or why there can be none. Undefined: the key is claimed now. */
async function findEarlierAnswer(
  tx: Transaction,
  attempt: Attempt,
  now: string,
): Promise<StoredResponse | Refusal | undefined> {
  try {
    return await findStoredResponse(tx, attempt, now)
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/**
 * Claims the key and the nonce of a decision. Returns undefined when the decision is to be stored with its
 * response; otherwise the earlier response, or why it must not be stored. An allowed decision is not stored after a revocation that it did not see.
 */
export async function claimDecision(
  tx: Transaction,
  { decision, basisVersion, attempt, callerNonce }: DecisionClaim,
  current: { readonly basisVersion: BasisVersion | undefined; readonly now: string },
): Promise<StoredResponse | Error | undefined> {
  const earlier = attempt && (await findEarlierAnswer(tx, attempt, current.now))
  if (earlier !== undefined) return earlier
  const refused =
    decision.authorized && basisVersion !== current.basisVersion
      ? new BasisChangedError('the basis of the decision has changed')
      : callerNonce !== undefined && !(await spendNonceInside(tx, callerNonce))
        ? new Refusal('caller_proof_rejected', { reason: 'replayed' })
        : undefined
  if (attempt !== undefined && refused !== undefined) await forgetAttempt(tx, attempt)
  return refused
}

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

interface UnchainedDecision extends DecisionClaim {
  readonly events: readonly AuditEvent[]
}

/** Decisions while the store is disabled: audit events and idempotency records only. Queued ones share a transaction. */
export class UnchainedDecisions {
  readonly #parts: EvidenceState
  readonly #decisions: Batcher<UnchainedDecision, StoredResponse>

  constructor(parts: EvidenceState) {
    this.#parts = parts
    const limits = { maxItems: 200, maxWaiting: 5000, delay: endOfLoopTurn }
    this.#decisions = new Batcher((items) => storeBatch(parts, items), limits)
  }

  async record(made: UnchainedDecision): Promise<StoredResponse> {
    const { decision, attempt, callerNonce, events, answer } = made
    if (decision.authorized || attempt !== undefined || callerNonce !== undefined) return this.#decisions.add(made)
    await this.#parts.audit.recordAlone(events)
    return answer
  }

  close(): Promise<void> {
    return this.#decisions.close()
  }
}

async function storeBatch(
  parts: EvidenceState,
  items: readonly UnchainedDecision[],
): Promise<(StoredResponse | Error)[]> {
  const { answers, basisVersion } = await parts.database.write(
    async (tx) => {
      const held = await holdBasisVersion(tx)
      const now = writeSortable(parts.clock.now())
      const events: AuditEvent[] = []
      const outcomes: (StoredResponse | Error)[] = []
      for (const item of items) {
        const claimed = await claimDecision(tx, item, { basisVersion: held, now })
        if (claimed === undefined) {
          if (item.attempt !== undefined) await storeResponse(tx, item.attempt, item.answer)
          events.push(...item.events)
        }
        outcomes.push(claimed ?? item.answer)
      }
      await parts.audit.recordAll(tx, events)
      return { answers: outcomes, basisVersion: held }
    },
    { cachedPlans: true, pipelined: true, room: 'growth' },
  )
  parts.lastBasis.version = basisVersion
  return answers
}
