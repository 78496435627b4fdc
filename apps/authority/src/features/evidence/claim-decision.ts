import { Refusal } from '@chancery/contract'
import { type NonceClaim, spendNonceInside } from '../../auth/nonces.ts'
import type { Transaction } from '../../database/database.ts'
import type { BasisVersion } from '../../database/locks/decision-basis.ts'
import { type Attempt, type StoredResponse, findStoredResponse, forgetAttempt } from '../../requests/idempotency.ts'

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
export async function findEarlierAnswer(
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
