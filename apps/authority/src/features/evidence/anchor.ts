import { Refusal } from '@chancery/contract'
import { type HttpResponse, jsonText } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceState } from './resources.ts'
import { makeAnchor } from './anchoring.ts'

/**
 * POST /admin/evidence/anchors
 * Signs the head of the store. Refuses when the store does not continue from the last anchor.
 */
export async function anchor(call: OperatorCall, parts: EvidenceState): Promise<HttpResponse> {
  const made = await makeAnchor(parts, requestDetails(call))
  if (made.status === 'refused') throw new Refusal('evidence_anchor_refused', { reason: made.reason })
  const text = `{"anchor":${made.text ?? 'null'},"status":"${made.status}"}`
  return jsonText(text, made.status === 'anchored' ? 201 : 200)
}
