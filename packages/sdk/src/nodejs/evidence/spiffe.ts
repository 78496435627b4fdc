import { type KeyObject, createPrivateKey, sign } from 'node:crypto'
import { EvidenceError, type EvidenceSource } from '../../node/evidence.ts'
import { type WorkloadApiOptions, fetchJwtSvid, fetchX509Svid } from './workload-api.ts'

/** A JWT-SVID with the bound audience. */
export function spiffeJwtEvidence(options: WorkloadApiOptions = {}): EvidenceSource {
  return async ({ bound }) => ({ token: (await fetchJwtSvid(bound, options)).token })
}

/** An X.509-SVID, and a proof by its key that is bound to the node key. */
export function spiffeX509Evidence(
  options: WorkloadApiOptions & { readonly clock?: () => number } = {},
): EvidenceSource {
  return async ({ bound }) => {
    const { chain, privateKey } = await fetchX509Svid(options)
    const key = createPrivateKey({ key: Buffer.from(privateKey), format: 'der', type: 'pkcs8' })
    const now = Math.floor((options.clock ?? Date.now)() / 1000)
    const token = signProof(key, { aud: bound, iat: now, exp: now + PROOF_SECONDS })
    return { token, certificate_chain: chain.map((der) => Buffer.from(der).toString('base64')) }
  }
}

const PROOF_SECONDS = 300
const PROOF_TYPE = 'chancery-svid-proof+jwt'
const CURVES: Readonly<Record<string, { readonly alg: string; readonly hash: string }>> = {
  prime256v1: { alg: 'ES256', hash: 'sha256' },
  secp384r1: { alg: 'ES384', hash: 'sha384' },
  secp521r1: { alg: 'ES512', hash: 'sha512' },
}

/** A compact JWS. */
function signProof(key: KeyObject, claims: object): string {
  const { alg, hash } = algorithmOf(key)
  const input = `${encode({ alg, typ: PROOF_TYPE })}.${encode(claims)}`
  const signature = sign(hash, Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): {
  readonly alg: string
  readonly hash: string
} {
  if (asymmetricKeyType === 'rsa') return { alg: 'RS256', hash: 'sha256' }
  const curve = CURVES[asymmetricKeyDetails?.namedCurve ?? '']
  if (asymmetricKeyType === 'ec' && curve !== undefined) return curve
  throw new EvidenceError('The key of the X.509-SVID is neither RSA nor ECDSA.')
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
