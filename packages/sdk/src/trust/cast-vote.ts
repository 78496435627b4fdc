import {
  FormError,
  JsonError,
  asJson,
  boundaryDecisionForm,
  draftValidatorVote,
  justificationForm,
  readJson,
  readReceived,
  receivedDigest,
  signForm,
  verifyJustification,
  verifyReceivedPlainly,
  voteContextDigest,
  voteForm,
} from '@chancery/protocol'
import type {
  BoundaryDecision,
  Instant,
  JsonObject,
  JustificationProof,
  Received,
  RecordForm,
  Signer,
  ValidatorVote,
} from '@chancery/protocol'
import { VerificationError } from '../errors.ts'
import type { RecordOrText } from '../http/read-response.ts'
import { systemClock } from '../http/system-clock.ts'

export type UntrustedJustificationReason =
  | 'malformed'
  | 'unknown_issuer'
  | 'missing_signature'
  | 'invalid_signature'
  | 'decision_mismatch'

/** The choice of a validator, with a reason that becomes part of the vote. */
export type VoteChoice = boolean | { readonly vote: boolean; readonly reason?: string }

export interface CastVoteOptions {
  readonly justification: RecordOrText<JustificationProof | JsonObject>
  /** Keys of the authority that issued the proof. */
  readonly issuerKeys: readonly string[]
  /** The decision that the proof explains. It must be of the same issuer and match the proof. */
  readonly decision?: RecordOrText<BoundaryDecision | JsonObject>
  /** Called with the verified trace only. */
  readonly judge: (trace: JustificationProof['trace']) => VoteChoice | Promise<VoteChoice>
  readonly validator: { readonly sovereignId: string; readonly signer: Signer }
  readonly clock?: () => Instant
}

/**
 * Votes as a validator that has no authority. Verifies the proof, asks `judge`, and signs the result. Throws
 * {@link VerificationError} and does not sign when the proof does not verify.
 */
export async function castVote(options: CastVoteOptions): Promise<ValidatorVote> {
  const { issuerKeys, judge, validator, clock = systemClock } = options
  if (issuerKeys.length === 0) throw untrusted('unknown_issuer')
  const proof = readGiven(justificationForm, options.justification)
  const decision = options.decision === undefined ? undefined : readGiven(boundaryDecisionForm, options.decision)
  const signed = await verifyReceivedPlainly(proof, issuerKeys)
  if (!signed.ok) throw untrusted(signed.reason)
  if (decision !== undefined) {
    const isGenuine = (await verifyReceivedPlainly(decision, issuerKeys)).ok
    if (!isGenuine || !(await verifyJustification(proof, issuerKeys, decision.record)).ok)
      throw untrusted('decision_mismatch')
  }
  const { proof_id, decision_id, trace } = proof.record
  const judged = await judge(trace)
  const { vote, reason } = typeof judged === 'boolean' ? { vote: judged, reason: undefined } : judged
  const draft = draftValidatorVote({
    vote_id: crypto.randomUUID(),
    proof_id,
    decision_id,
    validator_sovereign_id: validator.sovereignId,
    vote,
    reason: reason ?? null,
    context_digest: voteContextDigest(receivedDigest(proof), crypto.randomUUID()),
    now: clock(),
  })
  return signForm(voteForm, draft, validator.signer, validator.sovereignId)
}

function readGiven<Value>(form: RecordForm<Value>, given: RecordOrText<object>): Received<Value> {
  try {
    return readReceived(form, typeof given === 'string' ? readJson(given) : asJson(given))
  } catch (error) {
    if (!(error instanceof FormError) && !(error instanceof JsonError)) throw error
    throw untrusted('malformed')
  }
}

function untrusted(reason: UntrustedJustificationReason): VerificationError {
  return new VerificationError(reason, 'justification-proof')
}
