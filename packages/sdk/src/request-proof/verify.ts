import {
  FormError,
  JsonError,
  fromBase64,
  presentedCertificate,
  readJsonBytes,
  readPublicKey,
  seconds,
  verifySignature,
} from '@chancery/protocol'
import type { Instant, JoinCertificate } from '@chancery/protocol'
import type { TrustVerdict } from '../gateway/verdict.ts'
import { signingTimeOf } from '../trust/signing-time.ts'
import type { NonceStore } from './nonces.ts'
import {
  MAX_AGE_SECONDS,
  MAX_AHEAD_SECONDS,
  MAX_AUDIENCE_CHARACTERS,
  MAX_CERTIFICATE_CHARACTERS,
  PROOF_FIELDS,
  contentDigest,
  readParameters,
  signatureBase,
} from './profile.ts'
import type { ProofField, ProofHeaders, ProofParameters } from './profile.ts'

export type ProofRefusal =
  | 'proof_missing'
  | 'proof_malformed'
  | 'wrong_audience'
  | 'proof_stale'
  | 'digest_mismatch'
  | 'certificate_malformed'
  | 'signature_invalid'
  | 'certificate_untrusted'
  | 'proof_replayed'
  | 'nonces_unavailable'
  | 'body_too_large'

/** A request as it arrived. */
export interface IncomingRequest {
  readonly method: string
  /** Path and query as in the request line. */
  readonly target: string
  /** All values of a field, as they came; a repeated field is refused. */
  readonly field: (name: ProofField) => readonly string[]
  /**
   * The body, or a function that reads it last, after all other checks, so that no unauthenticated body is
   * stored. Undefined when it is longer than the service accepts.
   */
  readonly body: Uint8Array | (() => Promise<Uint8Array | undefined>)
}

export interface ProofPolicy {
  /** The name this service goes by. */
  readonly audience: string
  /** Verifies the certificate: a {@link RelyingParty}, or a call to a gateway. */
  readonly evaluate: (certificate: JoinCertificate, now: Instant) => Promise<TrustVerdict>
  readonly nonces: NonceStore
  /** The clock of this machine when not given. */
  readonly now?: Instant
}

type PolicyNow = ProofPolicy & { readonly now: Instant }

/** Who made a request. */
export interface NodeCaller {
  readonly publicKey: string
  readonly certificate: JoinCertificate
  readonly roles: readonly string[]
  readonly decision: TrustVerdict
}

export type ProofVerdict =
  | { readonly ok: true; readonly node: NodeCaller }
  | { readonly ok: false; readonly reason: ProofRefusal; readonly decision?: TrustVerdict }

/** Checks a request proof in the order of docs/protocol/request-proof.md section 3. Never throws on what arrived. */
export async function verifyRequest(request: IncomingRequest, given: ProofPolicy): Promise<ProofVerdict> {
  const policy = { ...given, now: signingTimeOf(given.now) }
  const fields = readFields(request)
  if (typeof fields === 'string') return { ok: false, reason: fields }
  const { headers, parameters, signature } = fields
  const reason = checkClaims(request, policy, fields)
  if (reason !== undefined) return { ok: false, reason }
  const certificate = readCertificate(headers['chancery-certificate'])
  const key = certificate === undefined ? undefined : readPublicKey(certificate.node_public_key)
  if (certificate === undefined || key === undefined || certificate.cert_id !== parameters.keyId)
    return { ok: false, reason: 'certificate_malformed' }
  const base = signatureBase(request, headers, headers['signature-input'].slice('node='.length))
  if (!(await verifySignature(key, base, signature))) return { ok: false, reason: 'signature_invalid' }
  const decision = await policy.evaluate(certificate, policy.now)
  if (!decision.trusted) return { ok: false, reason: 'certificate_untrusted', decision }
  const used = await claim(certificate, parameters, policy)
  if (used !== undefined) return { ok: false, reason: used }
  const unread = typeof request.body === 'function' ? checkBody(await request.body(), headers) : undefined
  if (unread !== undefined) return { ok: false, reason: unread }
  const { node_public_key: publicKey, roles } = certificate
  return { ok: true, node: { publicKey, certificate, roles, decision } }
}

interface ProofFields {
  readonly headers: ProofHeaders
  readonly parameters: ProofParameters
  /** Base64. */
  readonly signature: string
}

function readFields({ field }: IncomingRequest): ProofFields | 'proof_missing' | 'proof_malformed' {
  const values = PROOF_FIELDS.map((name) => [name, field(name)] as const)
  if (values.every(([, found]) => found.length === 0)) return 'proof_missing'
  if (values.some(([, found]) => found.length !== 1)) return 'proof_malformed'
  const headers = Object.fromEntries(values.map(([name, [value = '']]) => [name, value])) as ProofHeaders
  const input = headers['signature-input']
  const parameters = input.startsWith('node=') ? readParameters(input.slice('node='.length)) : undefined
  const [, signature] = /^node=:([A-Za-z0-9+/]{86}==):$/.exec(headers.signature) ?? []
  const isBounded =
    headers['chancery-certificate'].length <= MAX_CERTIFICATE_CHARACTERS &&
    headers['chancery-audience'].length <= MAX_AUDIENCE_CHARACTERS
  if (!isBounded || parameters === undefined || signature === undefined) return 'proof_malformed'
  return { headers, parameters, signature }
}

function checkClaims(
  { body }: IncomingRequest,
  { audience, now }: PolicyNow,
  { headers, parameters }: ProofFields,
): ProofRefusal | undefined {
  if (headers['chancery-audience'] !== audience) return 'wrong_audience'
  const age = now - seconds(parameters.created)
  if (age > seconds(MAX_AGE_SECONDS) || age < -seconds(MAX_AHEAD_SECONDS)) return 'proof_stale'
  return typeof body === 'function' ? undefined : checkBody(body, headers)
}

function checkBody(body: Uint8Array | undefined, headers: ProofHeaders): ProofRefusal | undefined {
  if (body === undefined) return 'body_too_large'
  return headers['content-digest'] === contentDigest(body) ? undefined : 'digest_mismatch'
}

function readCertificate(value: string): JoinCertificate | undefined {
  const [, text = ''] = /^:([A-Za-z0-9+/]+={0,2}):$/.exec(value) ?? []
  const bytes = fromBase64(text)
  if (bytes === undefined || bytes.length === 0) return undefined
  try {
    return presentedCertificate(readJsonBytes(bytes), '')
  } catch (error) {
    if (error instanceof FormError || error instanceof JsonError) return undefined
    throw error
  }
}

async function claim(
  { node_public_key: key }: JoinCertificate,
  { created, nonce }: ProofParameters,
  { nonces, now }: PolicyNow,
): Promise<'proof_replayed' | 'nonces_unavailable' | undefined> {
  try {
    const isNew = await nonces.claim(key, nonce, seconds(created + MAX_AGE_SECONDS), now)
    return isNew ? undefined : 'proof_replayed'
  } catch {
    return 'nonces_unavailable'
  }
}
