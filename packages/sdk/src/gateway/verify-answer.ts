import {
  asJson,
  authorityKeysAt,
  boundaryDecisionForm,
  isJsonObject,
  justificationForm,
  member,
  readOrUndefined,
  readReceived,
  verifyBoundaryDecision,
  verifyJustification,
} from '@chancery/protocol'
import type { ContextRecord, JsonObject } from '@chancery/protocol'
import { UsageError, VerificationError } from '../errors.ts'
import { type Caller, clockOf } from '../http/call.ts'
import { type Answer, toAnswer } from '../node/answer.ts'
import type { AskOptions } from '../node/decider.ts'
import { callerBasis } from '../request-proof/caller-basis.ts'
import { readIdentity } from '../trust/identity.ts'
import type { Decision } from '../verify/verdict.ts'
import { type EvaluationRequest, type EvaluationResponse, type Verifying, askOne } from './authzen-forms.ts'
import { findOtherQuestion } from './check-question.ts'

/** Loaded when the first decision is verified: a service that only checks certificates does not need it. */

interface Verified {
  readonly decision: Decision
  readonly context: ContextRecord
  readonly keys: readonly string[]
  readonly ours: JsonObject
}

/** Returns the signed decision of a response, or throws VerificationError: it is no answer then. */
export async function requireAnswer(
  response: EvaluationResponse,
  question: EvaluationRequest,
  verifying: Verifying,
): Promise<Verified> {
  const refuse = (reason: string, detail?: string): never => {
    throw new VerificationError(reason, 'boundary-decision', detail)
  }
  const ours = isJsonObject(response.context) ? member(response.context, 'chancery') : undefined
  if (!isJsonObject(ours)) return refuse('decision_missing', 'the response has no signed decision')
  const received = readOrUndefined(() => readReceived(boundaryDecisionForm, member(ours, 'decision') ?? null))
  const context = member(ours, 'context_record')
  if (received === undefined || !isJsonObject(context)) return refuse('malformed')
  const { record } = received
  const keys = keysOf(record.operator_sovereign_id, record.decision_made_at, verifying)
  const verdict = await verifyBoundaryDecision(received, { keys, now: clockOf(verifying)() })
  if (!verdict.accepted) return refuse(verdict.reason)
  const other = findOtherQuestion(record, context as unknown as ContextRecord, asJson(question))
  if (other !== undefined) return refuse('other_question', other)
  if (record.authorized !== response.decision) return refuse('decision_mismatch')
  return { decision: record as Decision, context: context as unknown as ContextRecord, keys, ours }
}

function keysOf(network: string, date: string, { trust = [] }: Verifying): readonly string[] {
  const identities = Array.isArray(trust) ? trust : [trust]
  const all = identities.map((each: Parameters<typeof readIdentity>[0]) => readIdentity(each))
  const found = all.find(({ genesis }) => genesis.network_name === network)
  return found === undefined ? [] : authorityKeysAt(found, date)
}

/** Asks a gateway as a decider: with the reasons, which are verified, too. */
export async function askGateway(
  call: Caller,
  verifying: Verifying,
  { capability, more }: { readonly capability: string; readonly more: AskOptions },
): Promise<Answer> {
  const { attributes = {}, parameters, resource = capability, signal } = more
  const { id, proof } = subjectOf(more)
  const question: EvaluationRequest = {
    subject: { type: 'attestation', id },
    action: { name: capability, ...(parameters === undefined ? {} : { properties: parameters }) },
    resource: { type: 'resource', id: resource },
    context: { ...attributes, chancery: { justification: true, ...proof } },
  }
  const requestId = crypto.randomUUID()
  const response = await askOne(call, question, { requestId, ...(signal === undefined ? {} : { signal }) })
  const { decision, context, keys, ours } = await requireAnswer(response, question, verifying)
  const justification = readOrUndefined(() =>
    readReceived(justificationForm, member(ours, 'justification_proof') ?? null),
  )
  const explained = justification && (await verifyJustification(justification, keys, decision))
  if (justification === undefined || explained?.ok !== true)
    throw new VerificationError('justification_invalid', 'justification-proof')
  return toAnswer({ decision, justification: justification.record, context, requestId })
}

function subjectOf({ attestation, caller }: AskOptions): { readonly id: string; readonly proof: JsonObject } {
  if (caller !== undefined) {
    if (caller.attestation === undefined) throw new UsageError('the caller sent no attestation')
    const { on_behalf_of } = callerBasis(caller)
    return { id: caller.attestation.attestation_id, proof: { on_behalf_of } }
  }
  if (attestation === undefined) throw new UsageError('a decision needs an attestation, or a caller with one')
  if (typeof attestation !== 'string') return { id: attestation.attestation_id, proof: {} }
  return { id: attestation, proof: {} }
}
