import { verifyForeignDecision as verify } from '@chancery/protocol'
import type { ForeignDecision, ForeignDecisionVerdict, Instant } from '@chancery/protocol'
import { signingTimeOf } from '../trust/signing-time.ts'

export interface ForeignDecisionInputs {
  readonly decision: object
  readonly justification: object
  readonly context: object
  /** The attestation of the partner. */
  readonly attestation: object
  /** The treaty by which the authority recognises the partner. */
  readonly treaty: object
  /** Trusted public keys of the authority that decided. */
  readonly authorityKeys: readonly string[]
  /** Microseconds since 1970; the clock of this machine when not given. */
  readonly now?: Instant
}

/**
 * Follows a decision on a member of a partner, without a call: decision, justification, context, attestation and treaty
 * belong together, and each is signed by its author. Accepted says that it is genuine; only `authorized` permits
 * anything. Read the records with `readJson`, which keeps the form of numbers.
 */
export async function verifyForeignDecision(inputs: ForeignDecisionInputs): Promise<ForeignDecisionVerdict> {
  const { decision, justification, context, attestation, treaty, authorityKeys, now } = inputs
  const records = { decision, justification, context, attestation, treaty } as ForeignDecision
  return verify(records, { keys: authorityKeys, now: signingTimeOf(now) })
}
