import { RefusedError, RequestError } from '../errors.ts'

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

/** A descriptor that has no form will not get one; a renewal that does not verify may have come from a broken proxy. */
export function isFinal(error: unknown): boolean {
  return error instanceof RefusedError ? isFinalRefusal(error) : error instanceof RequestError
}

export function isUnknown(error: unknown): boolean {
  return error instanceof RefusedError && error.code === 'certificate_not_found'
}
