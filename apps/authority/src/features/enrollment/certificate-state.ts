import { Refusal, type RefusalCode } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { EnrollmentParts } from './parts.ts'
import type { CertificateState } from './queries/heartbeats.ts'

/** Returns why a certificate cannot be used, or undefined: checks 6 to 12 of protocol/core 7, in their order. */
export function whyUnusable(
  certificate: CertificateState | undefined,
  nodeKey: string,
  now: string,
): RefusalCode | undefined {
  if (certificate === undefined) return 'certificate_not_found'
  if (certificate.node_public_key !== nodeKey) return 'certificate_key_mismatch'
  if (certificate.status === 'revoked') return 'certificate_revoked'
  if (certificate.compromised) return 'node_key_compromised'
  if (certificate.revoke_after !== null && certificate.revoke_after <= now) return 'certificate_superseded'
  if (certificate.issued_at > now) return 'certificate_not_yet_valid'
  return certificate.expires_at <= now ? 'certificate_expired' : undefined
}

/**
 * Refuses, and writes the event for rejections 8 to 13. An unknown id or a wrong key is not audited: no certificate is
 * affected.
 */
export async function rejectCertificate(
  call: Call,
  parts: EnrollmentParts,
  kind: 'heartbeat_rejected' | 'renewal_rejected' | 'wit_rejected',
  cert_id: string,
  reason: RefusalCode,
  shown: JsonObject = {},
  audited: JsonObject = {},
): Promise<never> {
  if (reason !== 'certificate_not_found' && reason !== 'certificate_key_mismatch') {
    const details = { cert_id, reason, ...audited, ...requestDetails(call) }
    await parts.audit.recordRefusal({ type: kind, details }, call)
  }
  throw new Refusal(reason, shown)
}
