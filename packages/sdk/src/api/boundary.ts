import { boundary } from '@chancery/contract'
import { boundaryDecisionForm, justificationForm, shape } from '@chancery/protocol'
import type { AgreementRecord, BoundaryDecision, JsonObject, JsonValue, JustificationProof } from '@chancery/protocol'
import { json, known } from '../http/read-response.ts'
import type { CallOptions, Connection, WriteOptions } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import type { RecordOrText } from '../http/record-texts.ts'
import { signedRecord } from '../http/signed-record.ts'

/** Context of a request (protocol/trust-operations 4.1); the authority adds the other facts. */
export interface BoundaryContext {
  readonly context_id?: string
  readonly parent_kind?: 'agreement' | 'delegation' | 'direct'
  readonly requester_sovereign_id?: string
  readonly provider_sovereign_id?: string
  readonly request_parameters?: JsonObject
  readonly context_freshness_seq?: number
}

export interface DecideRequest {
  readonly agreement: RecordOrText<AgreementRecord>
  readonly requested_capability: string
  readonly context?: BoundaryContext
}

/**
 * protocol/trust-operations 4.10. `accepted` means genuine; only `authorized` of an accepted decision permits the
 * request.
 */
export type BoundaryVerdict = {
  readonly accepted: boolean
  readonly authorized: boolean
  readonly reason: string
  readonly decision_id: string
}

export interface EvaluateRequest {
  /** Exactly one of agreement and attestation_id. */
  readonly agreement?: RecordOrText<AgreementRecord>
  readonly attestation_id?: string
  readonly requested_capability: string
  /** Attributes are normalised external facts, never secrets. */
  readonly context?: BoundaryContext & { readonly attributes?: JsonObject }
}

/** A decision under the active policies, with the signed results of every gate. */
export type EvaluateResult = { readonly decision: BoundaryDecision; readonly justification_proof: JustificationProof }

export interface BoundaryApi {
  /**
   * Decides under the active policies, on an agreement or an attestation. A denial is a signed decision, not an error.
   */
  evaluate(request: EvaluateRequest, options?: WriteOptions): Promise<EvaluateResult>
  /** Decides on the agreement alone, without policies. A denial is a signed decision, not an error. */
  decide(request: DecideRequest, options?: WriteOptions): Promise<BoundaryDecision>
  /** Keys default to those of the called authority. */
  verify(
    request: { readonly decision: RecordOrText<BoundaryDecision>; readonly operator_public_keys?: readonly string[] },
    options?: CallOptions,
  ): Promise<BoundaryVerdict>
}

const word = shape.required(shape.string)
const flag = shape.required(shape.boolean)
const readEvaluated = known({
  decision: shape.required((value: JsonValue) => signedRecord(boundaryDecisionForm)(value)),
  justification_proof: shape.required((value: JsonValue) => signedRecord(justificationForm)(value)),
})
const readVerdict = known({ accepted: flag, authorized: flag, reason: word, decision_id: word })

export function boundaryApi({ call }: Connection): BoundaryApi {
  return {
    evaluate: ({ context, ...request }, options) =>
      call({
        route: boundary.evaluate,
        body: omitUndefined({ ...request, context: context === undefined ? undefined : omitUndefined({ ...context }) }),
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: json((value) => readEvaluated(value, '')),
        options,
      }),
    decide: ({ context, ...request }, options) =>
      call({
        route: boundary.decide,
        body: omitUndefined({ ...request, context: context === undefined ? undefined : omitUndefined({ ...context }) }),
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: json(signedRecord(boundaryDecisionForm)),
        options,
      }),
    verify: (request, options) =>
      call({
        route: boundary.verify,
        body: omitUndefined({ ...request }),
        repeatable: true,
        read: json((value) => readVerdict(value, '')),
        options,
      }),
  }
}
