import { trustEvidence } from '@chancery/contract'
import { type JsonObject, type TrustEvidence, type TrustFinding, shape, trustEvidenceForm } from '@chancery/protocol'
import { json } from '../http/read-response.ts'
import type { CallOptions, Connection, WriteOptions } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import type { RecordOrText } from '../http/record-texts.ts'
import { signedRecord } from '../http/signed-record.ts'

/** A finding about a network; absent members get the defaults of protocol/trust-operations 2.3. */
export type TrustDecision = Pick<TrustFinding, 'source_sovereign_id' | 'target_sovereign_id' | 'verdict'> &
  Partial<TrustFinding> & {
    /** Read and not recorded. */
    readonly trust_path?: readonly JsonObject[]
  }

export interface TrustEvidenceRequest {
  readonly decision: TrustDecision
  /** The current graph when left out. */
  readonly graph_digest?: string
}

export type TrustEvidenceVerdict = {
  readonly accepted: boolean
  readonly reason: string
  readonly evidence_id: string
  readonly issuer_sovereign_id: string
  readonly verdict: string
}

export interface TrustEvidenceApi {
  issue(request: TrustEvidenceRequest, options?: WriteOptions): Promise<TrustEvidence>
  /** Keys default to those of the called authority. */
  verify(
    request: {
      readonly evidence: RecordOrText<TrustEvidence>
      readonly issuer_public_keys?: readonly string[]
      readonly expected_graph_digest?: string
    },
    options?: CallOptions,
  ): Promise<TrustEvidenceVerdict>
}

const word = shape.required(shape.string)
const readVerdict = shape.open({
  accepted: shape.required(shape.boolean),
  reason: word,
  evidence_id: word,
  issuer_sovereign_id: word,
  verdict: word,
})

export function trustEvidenceApi({ call }: Connection): TrustEvidenceApi {
  return {
    issue: ({ decision, graph_digest }, options) =>
      call({
        route: trustEvidence.issue,
        body: omitUndefined({ decision: omitUndefined({ ...decision }), graph_digest }),
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: json(signedRecord(trustEvidenceForm)),
        options,
      }),
    verify: (request, options) =>
      call({
        route: trustEvidence.verify,
        body: omitUndefined({ ...request }),
        repeatable: true,
        read: json((value) => readVerdict(value, '')),
        options,
      }),
  }
}
