import { boundaryDecisionForm, readReceived, verifyForeignDecision as verify } from '@chancery/protocol'
import type { ForeignDecision, ForeignDecisionFault, Instant } from '@chancery/protocol'
import { signingTimeOf } from '../trust/signing-time.ts'
import { type DecisionVerdict, toDecisionVerdict } from './records.ts'

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

/** As {@link DecisionVerdict}. Of an invalid one, `reason` is a {@link ForeignDecisionFault}. */
export type ForeignDecisionVerdict =
  | Exclude<DecisionVerdict, { readonly outcome: 'invalid' }>
  | {
      readonly ok: false
      readonly outcome: 'invalid'
      readonly reason: ForeignDecisionFault
      readonly problem?: string
    }

/**
 * Follows a decision on a member of a partner, without a call: decision, justification, context, attestation and treaty
 * belong together, and each is signed by its author. `ok` only if all of that holds and the decision allows. Read the records with `readJson`, which keeps the form of numbers.
 */
export async function verifyForeignDecision(inputs: ForeignDecisionInputs): Promise<ForeignDecisionVerdict> {
  const { decision, justification, context, attestation, treaty, authorityKeys, now } = inputs
  const records = { decision, justification, context, attestation, treaty } as ForeignDecision
  const verdict = await verify(records, { keys: authorityKeys, now: signingTimeOf(now) })
  if (!verdict.accepted) {
    const { reason, problem } = verdict
    return { ok: false, outcome: 'invalid', reason, ...(problem === undefined ? {} : { problem }) }
  }
  const made = toDecisionVerdict({
    ok: true,
    kind: 'boundary-decision',
    record: readReceived(boundaryDecisionForm, records.decision).record,
    checked: ['signature', 'time', 'basis'],
    // The keys say whose decision it is. Whether attestation or treaty were revoked since, no record here says.
    unproven: ['network', 'revocation'],
  })
  return made as ForeignDecisionVerdict
}
