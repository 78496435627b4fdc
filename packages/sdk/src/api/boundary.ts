import { boundary } from '@chancery/contract'
import { boundaryDecisionForm, contextRecordForm, justificationForm, readReceived, shape } from '@chancery/protocol'
import type {
  AgreementRecord,
  Attestation,
  BoundaryDecision,
  CallerProof,
  ContextRecord,
  JsonObject,
  JsonValue,
  JustificationProof,
  ResourceHead,
} from '@chancery/protocol'
import { json } from '../http/read-response.ts'
import type { CallOptions, Connection, WriteOptions } from '../http/call.ts'
import { requireNode } from '../http/node-signing.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import { type RecordOrText, nameTexts } from '../http/record-texts.ts'
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

/** An attestation of a partner as the basis of a decision (protocol/trust-operations 4.11). */
export type PresentedAttestation = {
  readonly attestation: RecordOrText<Attestation>
  readonly issuer_sovereign_id: string
  /** Only this treaty of the authority is considered. */
  readonly treaty_id?: string
}

export interface EvaluateRequest {
  /** Exactly one of agreement, attestation_id and presented. */
  readonly agreement?: RecordOrText<AgreementRecord>
  readonly attestation_id?: string
  readonly presented?: PresentedAttestation
  readonly requested_capability: string
  /** Attributes are normalised external facts, never secrets. */
  readonly context?: BoundaryContext & { readonly attributes?: JsonObject }
}

/** A decision under the active policies, with the signed results of every gate. */
export type EvaluateResult = {
  readonly decision: BoundaryDecision
  readonly justification_proof: JustificationProof
  /** With a presented attestation. Its digest is in the decision. */
  readonly context?: ContextRecord
}

/** A request that the key of the client signs (protocol/trust-operations 4.12). It needs no operator. */
export interface NodeDecisionRequest {
  /** Of this key; not needed by a member of a partner. */
  readonly cert_id?: string
  /** Exactly one of attestation_id and presented. */
  readonly attestation_id?: string
  readonly presented?: PresentedAttestation
  readonly requested_capability: string
  /** Attributes from a relay only. */
  readonly context?: BoundaryContext & { readonly attributes?: JsonObject }
  /** From a relay: the request proof of its caller. */
  readonly on_behalf_of?: CallerProof
  /** With it, a repeated request gets the first decision. */
  readonly idempotency_key?: string
  /** An authorized response then has the head of this resource. */
  readonly resource_id?: string
}

export type NodeDecision = {
  readonly decision: BoundaryDecision
  readonly justification_proof: JustificationProof
  readonly context: ContextRecord
  /** Null before the first record of the resource; undefined without `resource_id`, without a store and in a denial. */
  readonly resource_head?: ResourceHead | null
}

export interface BoundaryApi {
  /**
   * Decides under the active policies, on an agreement or an attestation. A denial is a signed decision, not an error.
   */
  evaluate(request: EvaluateRequest, options?: WriteOptions): Promise<EvaluateResult>
  /** Decides for the node key of the client. A denial is a signed decision, not an error. */
  request(request: NodeDecisionRequest, options?: CallOptions): Promise<NodeDecision>
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
const signed = {
  decision: shape.required((value: JsonValue) => signedRecord(boundaryDecisionForm)(value)),
  justification_proof: shape.required((value: JsonValue) => signedRecord(justificationForm)(value)),
}
const readContext = (value: JsonValue): ContextRecord => readReceived(contextRecordForm, value).record
const readEvaluated = shape.open({
  ...signed,
  context: shape.withDefault<ContextRecord | undefined>(readContext, undefined),
})
const resourceHead: (value: JsonValue, field: string) => ResourceHead = shape.open({
  resource_sequence: shape.required(shape.integer(1, Number.MAX_SAFE_INTEGER)),
  record_digest: word,
})
const readRequested = shape.open({
  ...signed,
  context: shape.required(readContext),
  resource_head: shape.withDefault<ResourceHead | null | undefined>(shape.nullable(resourceHead), undefined),
})
const readVerdict = shape.open({ accepted: flag, authorized: flag, reason: word, decision_id: word })

function toEvaluated(value: JsonValue): EvaluateResult {
  const { context: shown, ...rest } = readEvaluated(value, '')
  return shown === undefined ? rest : { ...rest, context: shown }
}

function toNodeDecision(value: JsonValue): NodeDecision {
  const { resource_head, ...rest } = readRequested(value, '')
  return resource_head === undefined ? rest : { ...rest, resource_head }
}

export function boundaryApi({ call, node }: Connection): BoundaryApi {
  return {
    request: ({ context: asked, ...request }, options) => {
      const caller = requireNode(node, 'a request for a decision')
      const given = omitUndefined({
        ...request,
        context: asked === undefined ? undefined : omitUndefined({ ...asked }),
      })
      // Before the body is signed: the signature is over the body as sent.
      const members = nameTexts(given, { records: boundary.evaluate.records })
      return call({
        route: boundary.request,
        body: (now) => caller.prove('boundary-request', members, now),
        repeatable: request.idempotency_key !== undefined,
        read: json(toNodeDecision),
        options,
      })
    },
    evaluate: ({ context, ...request }, options) =>
      call({
        route: boundary.evaluate,
        body: omitUndefined({ ...request, context: context === undefined ? undefined : omitUndefined({ ...context }) }),
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: json(toEvaluated),
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
