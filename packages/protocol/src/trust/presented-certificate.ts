import { toUtf8 } from '../canonical/utf8.ts'
import type { JoinCertificate } from '../artifacts/join-certificate.ts'

const NAME_BYTES = 256
const ROLE_BYTES = 128
const ROLES = 32
const SIGNATURES = 8
const SIGNATURE_CHARACTERS = 88
/** No instant and no key is longer; more would only cost memory. */
const FIELD_BYTES = 256

/** True when the certificate is within what a gateway admits; the signed format itself has no such bounds. */
export function isWithinLimits(certificate: JoinCertificate): boolean {
  const { cert_id, network_name, issued_by, roles, signatures } = certificate
  return (
    [cert_id, network_name, issued_by].every((name) => name !== '' && fits(name, NAME_BYTES)) &&
    [certificate.node_public_key, certificate.issued_at, certificate.expires_at].every((t) => fits(t, FIELD_BYTES)) &&
    roles.length <= ROLES &&
    roles.every((role) => fits(role, ROLE_BYTES)) &&
    signatures.length <= SIGNATURES &&
    signatures.every(({ key_id, sig }) => fits(key_id, NAME_BYTES) && sig.length === SIGNATURE_CHARACTERS)
  )
}

function fits(text: string, maxBytes: number): boolean {
  // One unit is one to three bytes: most texts are decided without encoding them.
  if (text.length * 3 <= maxBytes) return true
  return text.length <= maxBytes && toUtf8(text).length <= maxBytes
}
