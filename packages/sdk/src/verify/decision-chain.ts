import { boundaryDecisionForm, readReceived, verifyForeignDecision } from '@chancery/protocol'
import type { ForeignDecision, ForeignDecisionFault } from '@chancery/protocol'
import { type Time, timeOf } from '../trust/signing-time.ts'
import { type DecisionVerdict, toDecisionVerdict } from './verdict.ts'

export interface DecisionChain {
  readonly decision: object
  readonly justification: object
  readonly context: object
  /** The attestation of the partner. */
  readonly attestation: object
  /** The treaty by which the authority recognises the partner. */
  readonly treaty: object
  /** Trusted public keys of the authority that decided. */
  readonly authorityKeys: readonly string[]
  /** The clock of this machine when not given. */
  readonly at?: Time
}

/** As {@link DecisionVerdict}. Of an invalid one, `reason` is a {@link ForeignDecisionFault}. */
export type DecisionChainVerdict =
  | Extract<DecisionVerdict, { readonly valid: true }>
  | {
      readonly valid: false
      readonly allowed: false
      readonly reason: ForeignDecisionFault
      readonly detail: string
    }

/**
 * Follows a decision on a member of a partner, without a call: decision, justification, context, attestation and treaty
 * belong together, and each is signed by its author. Read the records with `readJson`, which keeps the form of numbers.
 */
export async function verifyDecisionChain(inputs: DecisionChain): Promise<DecisionChainVerdict> {
  const { decision, justification, context, attestation, treaty, authorityKeys, at } = inputs
  const records = { decision, justification, context, attestation, treaty } as ForeignDecision
  const verdict = await verifyForeignDecision(records, { keys: authorityKeys, now: timeOf(at) })
  if (!verdict.accepted) {
    const { reason, problem = reason } = verdict
    return { valid: false, allowed: false, reason, detail: problem }
  }
  const { record } = readReceived(boundaryDecisionForm, records.decision)
  return toDecisionVerdict({
    valid: true,
    record,
    signedBy: record.signature?.key_id,
    checked: ['signature', 'time', 'basis'],
    // The keys say whose decision it is. Whether attestation or treaty were revoked since, no record here says.
    unproven: ['network', 'revocation'],
  }) as DecisionChainVerdict
}
