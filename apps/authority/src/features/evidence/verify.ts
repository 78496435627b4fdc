import type { JsonObject } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceState } from './state.ts'

/**
 * GET /admin/evidence/verify
 * Every digest, link, envelope, signature and anchor, computed anew. A large store takes longer than a request may:
 * then 503, and a later call finds the finished report.
 */
export function verify(_call: OperatorCall, parts: EvidenceState): Promise<JsonObject> {
  return parts.storeVerifier.report(parts)
}
