import type { RefusedError } from '../errors.ts'

/** No later call can succeed with this certificate or descriptor; a person has to act. */
const FINAL: ReadonlySet<string> = new Set([
  'certificate_expired',
  'certificate_key_mismatch',
  'certificate_not_found',
  'certificate_revoked',
  'certificate_superseded',
  'evidence_required',
  'node_key_compromised',
  'node_key_revoked',
])

export function isFinalRefusal(error: RefusedError): boolean {
  return FINAL.has(error.code)
}
