import { agreements } from '@chancery/contract'
import {
  agreementRecordForm,
  asJson,
  capabilityCounterForm,
  capabilityOfferForm,
  readReceived,
  shape,
} from '@chancery/protocol'
import type { AgreementRecord, CapabilityCounter, CapabilityOffer, JsonObject } from '@chancery/protocol'
import { json } from '../http/read-response.ts'
import type { CallOptions, Connection, WriteOptions } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import type { RecordOrText } from '../http/record-texts.ts'
import { signedRecord } from '../http/signed-record.ts'

/** Terms that one party offers the other (protocol/trust-operations 3.6). Times are ISO 8601. */
export interface AgreementTermsRequest {
  readonly capabilities: readonly string[]
  readonly scope?: JsonObject
  readonly valid_from: string
  readonly valid_until: string
}

export interface OfferRequest extends AgreementTermsRequest {
  readonly responder_sovereign_id: string
  /** Latest time of acceptance. */
  readonly expires_at: string
}

export interface CounterRequest extends AgreementTermsRequest {
  readonly offer: RecordOrText<CapabilityOffer>
}

/** An unchanged offer, or a counter to an own offer. */
export type AcceptRequest =
  | { readonly offer: RecordOrText<CapabilityOffer> }
  | { readonly counter: RecordOrText<CapabilityCounter>; readonly original_offer: RecordOrText<CapabilityOffer> }

/** An agreement that the responder accepted, and the own offer that it is based on. */
export interface CosignRequest {
  readonly agreement: RecordOrText<AgreementRecord>
  readonly original_offer: RecordOrText<CapabilityOffer>
}

export interface AgreementVerifyRequest {
  readonly agreement: RecordOrText<AgreementRecord>
  /** Without keys the authority uses those that its treaties name. */
  readonly offerer_public_keys?: readonly string[]
  readonly responder_public_keys?: readonly string[]
}

/** protocol/trust-operations 3.9: a negative result is a verdict, not an error. */
export type AgreementVerdict = {
  /** The signatures are valid. Whether it is in force, and whether the graph has changed, are separate statements. */
  readonly accepted: boolean
  readonly reason: string
  readonly agreement_id: string
  /** Each party signed with its own key; false: the key of the offering authority stands for both. Null: not stated. */
  readonly signed_by_both: boolean | null
  /** Now is within the agreed window. Null: not stated. */
  readonly in_force: boolean | null
  /** The recognition graph of the offerer is another one since. Null: not known to the authority that was asked. */
  readonly graph_changed: boolean | null
}

/** After an unknown outcome, creating calls are repeated only with an idempotency key. */
export interface AgreementsApi {
  offer(request: OfferRequest, options?: WriteOptions): Promise<CapabilityOffer>
  counter(request: CounterRequest, options?: WriteOptions): Promise<CapabilityCounter>
  accept(request: AcceptRequest, options?: WriteOptions): Promise<AgreementRecord>
  /**
   * As the offerer: adds its signature to an agreement that the responder accepted. A record that it has already signed
   * is returned unchanged.
   */
  cosign(request: CosignRequest, options?: WriteOptions): Promise<AgreementRecord>
  verify(request: AgreementVerifyRequest, options?: CallOptions): Promise<AgreementVerdict>
}

const word = shape.required(shape.string)
/** Absent at an authority of an earlier release. */
const stated = shape.withDefault<boolean | null>(shape.nullable(shape.boolean), null)
const readVerdict = shape.open({
  accepted: shape.required(shape.boolean),
  reason: word,
  agreement_id: word,
  signed_by_both: stated,
  in_force: stated,
  graph_changed: stated,
})

export function agreementsApi({ call }: Connection): AgreementsApi {
  const creating = (options: WriteOptions | undefined) => ({
    idempotencyKey: options?.idempotencyKey,
    repeatable: options?.idempotencyKey !== undefined,
    options,
  })
  return {
    offer: (request, options) =>
      call({
        route: agreements.offer,
        body: omitUndefined({ ...request }),
        read: json(signedRecord(capabilityOfferForm)),
        ...creating(options),
      }),
    counter: (request, options) =>
      call({
        route: agreements.counter,
        body: omitUndefined({ ...request }),
        read: json(signedRecord(capabilityCounterForm)),
        ...creating(options),
      }),
    accept: (request, options) =>
      call({
        route: agreements.accept,
        body: asJson(request),
        read: json(signedRecord(agreementRecordForm)),
        ...creating(options),
      }),
    cosign: (request, options) =>
      call({
        route: agreements.cosign,
        body: omitUndefined({ ...request }),
        read: json((value) => readReceived(agreementRecordForm, value).wire as AgreementRecord),
        ...creating(options),
      }),
    verify: (request, options) =>
      call({
        route: agreements.verify,
        body: omitUndefined({ ...request, separate_graph: true }),
        repeatable: true,
        read: json((value) => readVerdict(value, '')),
        options,
      }),
  }
}
