import type { JsonObject } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceState } from './resources.ts'

/**
 * GET /admin/evidence/verify
 * Computes every digest, link, envelope, signature and anchor again. A large store takes longer than a request: the
 * response is then 503, and a later call gets the finished report.
 */
export function verify(_call: OperatorCall, parts: EvidenceState): Promise<JsonObject> {
  return parts.storeVerifier.report(parts)
}
