import { authorityKeysAt, instantOf, readJoinCertificate, readJson, verifyJoinCertificate } from '@chancery/protocol'
import type { AuthorityKeys, CrlEntry, Instant, JoinCertificate } from '@chancery/protocol'
import { ChanceryError } from '../errors.ts'

/** The certificate is not of this node. An authority or a proxy can return a wrong one. */
export class CertificateError extends ChanceryError {
  override readonly name: string = 'CertificateError'
}

/** The revocation list names the certificate in use: a person has to find out why. */
export class RevokedError extends CertificateError {
  override readonly name: string = 'RevokedError'
  readonly entry: CrlEntry

  constructor(entry: CrlEntry) {
    super(`the certificate ${entry.certificate_id} is revoked: ${entry.reason}`)
    this.entry = entry
  }
}

export interface Expected {
  readonly keys: AuthorityKeys
  readonly publicKey: string
  readonly now: Instant
}

/** Checks a certificate before anything relies on it. */
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

/** The certificate of an earlier run when it is still good; otherwise the node has to join. */
export async function readStored(text: string | undefined, expected: Expected): Promise<JoinCertificate | undefined> {
  if (text === undefined) return undefined
  try {
    const certificate = readJoinCertificate(readJson(text))
    await requireOwnCertificate(certificate, expected)
    // The tolerance of verifiers is not ours to use up: the authority renews nothing that has expired.
    return expected.now < instantOf(certificate.expires_at) ? certificate : undefined
  } catch {
    return undefined
  }
}
