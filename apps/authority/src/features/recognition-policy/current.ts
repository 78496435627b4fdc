import { Refusal } from '@chancery/contract'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import type { RecognitionPolicyParts } from './parts.ts'
import { findActivePolicyText } from './queries.ts'

/**
 * GET /recognition-policy
 * Returns the active recognition policy.
 */
export async function current(_call: Call, parts: RecognitionPolicyParts): Promise<HttpResponse> {
  const text = await findActivePolicyText(parts.database.read)
  if (text === undefined) throw new Refusal('recognition_policy_not_configured')
  return jsonText(text)
}
