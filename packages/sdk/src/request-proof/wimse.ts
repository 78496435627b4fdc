import {
  PROOF_AUDIENCE,
  contentDigest,
  readWit,
  seconds,
  toBase64,
  toUtf8,
  verifyWimseRequest,
  wimseBase,
  wimseComponents,
  writeWimseParameters,
} from '@chancery/protocol'
import type { Instant, JoinCertificate, ProofHeaders, SignedFields, Signer, WimseNetwork } from '@chancery/protocol'
import { RequestError } from '../errors.ts'
import { signingTimeOf } from '../trust/signing-time.ts'
import type { IncomingRequest, ProofPolicy, ProofVerdict } from './verify.ts'

export interface RequestToSign {
  readonly method: string
  /** The whole address, or path and query. */
  readonly url: string
  readonly body?: Uint8Array | string
  /** The name the service goes by (docs/protocol/request-proof.md). */
  readonly audience: string
  /** The value of this field of the request: with it, the proof covers the field. Older services refuse such a proof. */
  readonly authorization?: string
  readonly now?: Instant
}

/** As `fetch` puts it into the request line: the proof must cover the very same text. */
export function targetOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : new URL(url, 'http://localhost')
  return parsed.pathname + parsed.search
}

/** Who calls in the profile of WIMSE: the node key, and the token that the authority issued for it. */
export interface WimseIdentity {
  readonly signer: Signer
  readonly wit: string
}

export interface WimseRequest extends RequestToSign {
  /** The other fields of the request, in lower case: content type, authorization and transaction token are signed. */
  readonly fields?: SignedFields
}

const LIFETIME_SECONDS = 60

/** The fields that prove a request by WIMSE (docs/protocol/wimse.md). New ones are needed for every request. Beta. */
export async function signWimseRequest(
  request: WimseRequest,
  { signer, wit }: WimseIdentity,
): Promise<Readonly<Record<string, string>>> {
  if (readWit(wit)?.certificate.node_public_key !== signer.publicKey)
    throw new RequestError('the token is of another key')
  if (!PROOF_AUDIENCE.test(request.audience) || /["\\]/.test(request.audience))
    throw new RequestError('the audience is one word of visible ASCII without quotes')
  const body = typeof request.body === 'string' ? toUtf8(request.body) : (request.body ?? new Uint8Array())
  const made = {
    ...(body.length === 0 ? {} : { 'content-digest': contentDigest(body) }),
    'workload-identity-token': wit,
  }
  const fields = { ...request.fields, ...made }
  const components = wimseComponents(fields)
  const created = Number(signingTimeOf(request.now) / seconds(1))
  const parameters = writeWimseParameters(components, {
    created,
    expires: created + LIFETIME_SECONDS,
    nonce: crypto.randomUUID(),
    audience: request.audience,
  })
  const about = { method: request.method.toUpperCase(), target: targetOf(request.url) }
  const signature = toBase64(await signer.sign(wimseBase(about, fields, components, parameters)))
  return { ...made, 'signature-input': `wimse=${parameters}`, signature: `wimse=:${signature}:` }
}

/** A network whose tokens are accepted. */
export interface AcceptedWimse {
  readonly trustDomain: string
  /** Public keys of its authority now, such as `() => allKeys(party.keys)`. Tokens live an hour at most. */
  readonly keys: () => readonly string[]
}

export interface WimseProofPolicy extends Omit<ProofPolicy, 'attested'> {
  /** By network name. */
  readonly networks: Readonly<Record<string, AcceptedWimse>>
}

/** A request of which any field can be read. */
export type WimseIncoming = Omit<IncomingRequest, 'field'> & { readonly field: (name: string) => readonly string[] }

/** Checks a request of the profile of WIMSE, in the order of docs/protocol/wimse.md. Never throws on what arrived. */
export async function verifyWimse(request: WimseIncoming, policy: WimseProofPolicy): Promise<ProofVerdict> {
  const now = signingTimeOf(policy.now)
  const network = (name: string): WimseNetwork | undefined =>
    Object.hasOwn(policy.networks, name) ? policy.networks[name] : undefined
  const caller = await verifyWimseRequest(request, { audience: policy.audience, network, now })
  if (typeof caller === 'string') return { ok: false, reason: caller }
  const { certificate, nonce, signature, created, contentDigest: signed } = caller
  const decision = await policy.evaluate(certificate, now)
  if (!decision.trusted) return { ok: false, reason: 'certificate_untrusted', decision }
  const used = await claim(policy, certificate, nonce, seconds(created + LIFETIME_SECONDS), now)
  if (used !== undefined) return { ok: false, reason: used }
  const body = typeof request.body === 'function' ? await request.body() : request.body
  if (body === undefined) return { ok: false, reason: 'body_too_large' }
  // A body needs a digest. A signed digest must match, also of nothing.
  const isSame = signed === undefined ? body.length === 0 : signed === contentDigest(body)
  if (!isSame) return { ok: false, reason: 'digest_mismatch' }
  const { node_public_key: publicKey, roles } = certificate
  const { method, target, field } = request
  const headers: ProofHeaders = {
    'chancery-certificate': '',
    'chancery-audience': policy.audience,
    'content-digest': signed ?? '',
    'signature-input': field('signature-input').join(),
    signature: field('signature').join(),
  }
  const proof = { request: { method, target }, headers, verified: { nonce, signature } }
  return { ok: true, node: { publicKey, certificate, roles, decision, attestation: undefined, proof }, unproven: [] }
}

async function claim(
  { nonces }: WimseProofPolicy,
  { node_public_key: key }: JoinCertificate,
  nonce: string,
  until: Instant,
  now: Instant,
): Promise<'proof_replayed' | 'nonces_unavailable' | undefined> {
  try {
    return (await nonces.claim(key, nonce, until, now)) ? undefined : 'proof_replayed'
  } catch {
    return 'nonces_unavailable'
  }
}
