import { type Instant, SECOND } from '@chancery/protocol'
import { type Certificate, KEY_USAGE, RSASSA_PSS } from './certificate.ts'

/** RSA and ECDSA with SHA-2, RSASSA-PSS, Ed25519. Others, such as SHA-1, are refused. */
const SIGNATURES: ReadonlySet<string> = new Set([
  RSASSA_PSS,
  '1.2.840.113549.1.1.11',
  '1.2.840.113549.1.1.12',
  '1.2.840.113549.1.1.13',
  '1.2.840.10045.4.3.2',
  '1.2.840.10045.4.3.3',
  '1.2.840.10045.4.3.4',
  '1.3.101.112',
])
/** SHA-256, SHA-384 and SHA-512, in the parameters of RSASSA-PSS. */
const PSS_HASHES: ReadonlySet<string> = new Set([
  '2.16.840.1.101.3.4.2.1',
  '2.16.840.1.101.3.4.2.2',
  '2.16.840.1.101.3.4.2.3',
])
const MIN_RSA_BITS = 2048
const MAX_RSA_BITS = 8192

/**
 * Whether a chain leads from its first certificate to one of the roots (RFC 5280, 6.1): each is signed by the next,
 * which may sign certificates and allows the length of the path. Everything is within its time.
 */
export function leadsTo(roots: readonly Certificate[], chain: readonly Certificate[], now: Instant): boolean {
  const [leaf, ...signers] = chain
  if (leaf === undefined || !isUsable(leaf, now) || !signers.every((signer) => maySign(signer, now))) return false
  for (const [at, signer] of signers.entries()) {
    const signed = chain[at]
    // Certificates between the signer and the leaf.
    if (signed === undefined || !isSignedBy(signed, signer) || signer.maxPathLength < at) return false
  }
  const last = chain.at(-1) ?? leaf
  return roots.some((root) => isSignedBy(last, root) && maySign(root, now) && root.maxPathLength >= signers.length)
}

function isUsable({ x509, unsupported, signatureAlgorithm, pssHashes }: Certificate, now: Instant): boolean {
  const ms = Number(now / (SECOND / 1000n))
  if (ms < x509.validFromDate.getTime() || ms >= x509.validToDate.getTime()) return false
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = x509.publicKey
  const bits = details?.modulusLength
  if (type?.startsWith('rsa') === true && (bits === undefined || bits < MIN_RSA_BITS || bits > MAX_RSA_BITS))
    return false
  const isStrong = SIGNATURES.has(signatureAlgorithm) && pssHashes.every((hash) => PSS_HASHES.has(hash))
  return unsupported.length === 0 && isStrong
}

function maySign(certificate: Certificate, now: Instant): boolean {
  const { isAuthority, keyUsage } = certificate
  if (!isUsable(certificate, now) || !isAuthority) return false
  return keyUsage === undefined || (keyUsage.bits & KEY_USAGE.keyCertSign) !== 0
}

function isSignedBy({ x509 }: Certificate, signer: Certificate): boolean {
  try {
    return x509.checkIssued(signer.x509) && x509.verify(signer.x509.publicKey)
  } catch {
    // A key that the platform does not support: it signs nothing here.
    return false
  }
}
