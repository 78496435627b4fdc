import { authorityKeysAt, instantOf, readJoinCertificate, readJson, verifyJoinCertificate } from '@chancery/protocol'
import type { AuthorityKeys, CrlEntry, Instant, JoinCertificate } from '@chancery/protocol'
import { ChanceryError, RevokedError } from '../errors.ts'

/** The certificate is not of this node. An authority or a proxy can return a wrong one. */
export class CertificateError extends ChanceryError {
  override readonly name: string = 'CertificateError'
}

/** The revocation list names the certificate in use. */
export function listedAsRevoked(entry: CrlEntry): RevokedError {
  const message = `the certificate ${entry.certificate_id} is revoked: ${entry.reason}`
  const unknown = { requestId: undefined, retryAfterSeconds: undefined, clockSkewSeconds: undefined }
  return new RevokedError({ status: 403, code: 'certificate_revoked', message, details: {}, ...unknown }, entry)
}

export interface Expected {
  readonly keys: AuthorityKeys
  readonly publicKey: string
  readonly now: Instant
}

/** Checks a certificate before it is used. */
export async function requireOwnCertificate(certificate: JoinCertificate, expected: Expected): Promise<void> {
  const { keys, publicKey, now } = expected
  if (certificate.node_public_key !== publicKey) throw new CertificateError('the certificate is of another node key')
  const verdict = await verifyJoinCertificate(certificate, {
    network_name: keys.genesis.network_name,
    authorityKey: authorityKeysAt(keys, certificate.issued_at),
    now,
  })
  if (!verdict.ok) throw new CertificateError(`the certificate ${certificate.cert_id} is not usable: ${verdict.reason}`)
}

/** Returns the certificate of an earlier run if it is still valid; otherwise the node must join. */
export async function readStored(text: string | undefined, expected: Expected): Promise<JoinCertificate | undefined> {
  if (text === undefined) return undefined
  try {
    const certificate = readJoinCertificate(readJson(text))
    await requireOwnCertificate(certificate, expected)
    // Without the tolerance of verifiers, because the authority does not renew an expired certificate.
    return expected.now < instantOf(certificate.expires_at) ? certificate : undefined
  } catch {
    return undefined
  }
}
