import { instantOf, waitingApproval } from '@chancery/protocol'
import type { BoundaryDecision, ContextRecord, JustificationProof } from '@chancery/protocol'
import { ChanceryError, VerificationError } from '../errors.ts'
import { denialText, missingParameters } from '../governed/explain-denial.ts'
import {
  type AllowedDecision,
  type DecisionVerdict,
  type DenialReason,
  type DeniedDecision,
  denialReason,
} from '../verify/verdict.ts'

/** What a denial says. */
export interface Denial {
  readonly allowed: false
  readonly decision: DeniedDecision
  readonly reason: DenialReason
  /** One line for a person or a model: the reason, and what would be needed. */
  readonly explanation: string
  /** Parameters that a policy needs and did not get. */
  readonly missing: readonly string[]
}

interface AnswerFields {
  readonly justification: JustificationProof
  readonly context: ContextRecord
  /** Names the request in the log of the service that answered. */
  readonly requestId: string
  readonly validUntil: Date
}

export interface AllowedAnswer extends AnswerFields {
  readonly allowed: true
  readonly decision: AllowedDecision
}

/** Held: a person must approve first. Nothing may be done yet. */
export type Held =
  | { readonly held: false }
  | {
      readonly held: true
      /** For `waitForApproval` of a node, and for the same question once more. */
      readonly approvalId: string
      /** Approved, and not used: ask again with `approvalId`. */
      readonly isApproved: boolean
    }

export type DeniedAnswer = AnswerFields & Denial & Held

/** A decision that was verified. */
export type Answer = AllowedAnswer | DeniedAnswer

/** Makes an answer of a decision that was verified. */
export function toAnswer(parts: {
  readonly decision: BoundaryDecision
  readonly justification: JustificationProof
  readonly context: ContextRecord
  readonly requestId: string
}): Answer {
  const { decision, justification, context, requestId } = parts
  const validUntil = new Date(Number(instantOf(decision.decision_valid_until) / 1000n))
  const fields = { justification, context, requestId, validUntil }
  if (decision.authorized) return { allowed: true, decision: decision as AllowedDecision, ...fields }
  const denied = { decision, justification, capability: context.requested_capability }
  return {
    allowed: false,
    decision: decision as DeniedDecision,
    reason: denialReason(decision),
    explanation: denialText(denied),
    missing: missingParameters(denied),
    ...fields,
    ...toHeld(justification),
  }
}

function toHeld(justification: JustificationProof): Held {
  const waitsFor = waitingApproval(justification)
  if (waitsFor === undefined) return { held: false }
  return { held: true, approvalId: waitsFor.approval_id, isApproved: waitsFor.state === 'approved' }
}

/** For the answer to a model: the reason and what would be needed, in one line. */
export function explainDenial({ explanation }: Pick<Denial, 'explanation'>): string {
  return explanation
}

/** The decision denies. Nothing was done. */
export class DeniedError extends ChanceryError {
  override readonly name: string = 'DeniedError'
  readonly kind = 'denied'
  readonly answer: Denial

  constructor(answer: Denial) {
    super(answer.explanation)
    this.answer = answer
  }
}

/** There is no decision now. Nothing was done; a later call may succeed. */
export class NoDecisionError extends ChanceryError {
  override readonly name: string = 'NoDecisionError'
  readonly kind = 'no_decision'
  readonly retryAfterSeconds: number | undefined

  constructor(retryAfterSeconds: number | undefined, options?: ErrorOptions) {
    super('Nothing was done: there is no decision, or no storage for its evidence. Try again later.', options)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Returns what is allowed, or throws: DeniedError, or VerificationError for a decision that is not valid. */
export function requireAllowed(answer: Answer): AllowedAnswer
export function requireAllowed(verdict: DecisionVerdict): AllowedDecision
export function requireAllowed(given: Answer | DecisionVerdict): AllowedAnswer | AllowedDecision {
  if (!('valid' in given)) {
    if (given.allowed) return given
    throw new DeniedError(given)
  }
  if (!given.valid) throw new VerificationError(given.reason, 'boundary-decision', given.detail)
  if (given.allowed) return given.record
  const { record: decision, reason } = given
  const explanation = `Denied: ${decision.denial_reason}. Decision ${decision.decision_id}.`
  throw new DeniedError({ allowed: false, decision, reason, explanation, missing: [] })
}
