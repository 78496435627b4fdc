import { Refusal } from '@chancery/contract'
import { isJsonObject, isPlainText } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import { readCapability } from './decide.ts'

/** The basis of a decision, as sent. */
export type BasisRequest =
  | { readonly kind: 'agreement'; readonly given: JsonValue }
  | { readonly kind: 'attestation'; readonly attestation_id: string }

export interface EvaluateRequest {
  readonly asked: BasisRequest
  readonly requested_capability: string
}

/** protocol/trust-operations 4.6, checks 1 to 3 and the first half of 4, in this order. */
export function readEvaluateRequest(body: JsonObject): EvaluateRequest {
  const [agreement, attestation_id] = [body['agreement'] ?? null, body['attestation_id'] ?? null]
  if ((agreement === null) === (attestation_id === null)) throw new Refusal('ambiguous_basis')
  const requested_capability = readCapability(body)
  if (agreement === null) {
    if (typeof attestation_id !== 'string' || !isPlainText(attestation_id, 128))
      throw new Refusal('invalid_attestation_id')
    return { asked: { kind: 'attestation', attestation_id }, requested_capability }
  }
  if (isJsonObject(agreement) && Object.keys(agreement).length === 0) throw new Refusal('missing_boundary_fields')
  return { asked: { kind: 'agreement', given: agreement }, requested_capability }
}
