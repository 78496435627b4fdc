import {
  MAX_CARRIED_CHARACTERS,
  PROOF_AUDIENCE,
  contentDigest,
  isAttestationOfKey,
  isKeyIdOfProof,
  signatureBase,
  toBase64,
  toUtf8,
  writeJson,
  writeProofParameters,
} from '@chancery/protocol'
import type { Attestation, Instant, JoinCertificate, JsonValue, ProofHeaders, Signer } from '@chancery/protocol'
import { type Fetch, fetchWithoutRedirect } from '../http/transport.ts'
import { systemClock } from '../http/system-clock.ts'
import { RequestError } from '../errors.ts'
import { signingTimeOf } from '../trust/signing-time.ts'
import { profileToSign } from './verify.ts'
import { type ResponseCheck, requireSigned } from './response.ts'
import { type RequestToSign, signWimseRequest, targetOf } from './wimse.ts'

/** Who calls: the key, and the certificate that names it. */
export interface ProofIdentity {
  readonly signer: Signer
  readonly certificate: JoinCertificate
  /** An attestation of this key by the network of the certificate; with it the proof is of profile v2. */
  readonly attestation?: Attestation
}

/** The fields that prove a request comes from this node. New ones are needed for every request. */
export async function signRequest(request: RequestToSign, identity: ProofIdentity): Promise<ProofHeaders> {
  const { certificate, attestation, signer } = identity
  if (certificate.node_public_key !== signer.publicKey) throw new RequestError('the certificate is of another key')
  if (!isKeyIdOfProof(certificate.cert_id)) throw new RequestError('the id of the certificate fits no signature field')
  if (!PROOF_AUDIENCE.test(request.audience)) throw new RequestError('the audience is one word of visible ASCII')
  if (attestation !== undefined && !isAttestationOfKey(attestation, signer.publicKey))
    throw new RequestError('the attestation is of another key')
  if (attestation !== undefined && attestation.issuer_sovereign_id !== certificate.network_name)
    throw new RequestError('the attestation is of another network than the certificate')
  const body = typeof request.body === 'string' ? toUtf8(request.body) : (request.body ?? new Uint8Array())
  const fields = {
    'chancery-certificate': carry(certificate, 'certificate'),
    'chancery-audience': request.audience,
    'content-digest': contentDigest(body),
    ...(attestation === undefined ? {} : { 'chancery-attestation': carry(attestation, 'attestation') }),
  }
  const { authorization } = request
  const profile = profileToSign(attestation !== undefined, authorization !== undefined)
  const covered = authorization === undefined ? fields : { ...fields, authorization }
  const created = Number(signingTimeOf(request.now) / 1_000_000n)
  const nonce = crypto.randomUUID()
  const parameters = writeProofParameters({ created, nonce, keyId: certificate.cert_id }, profile)
  const about = { method: request.method.toUpperCase(), target: targetOf(request.url) }
  const signature = await signer.sign(signatureBase(about, covered, parameters, profile))
  return { ...fields, 'signature-input': `node=${parameters}`, signature: `node=:${toBase64(signature)}:` }
}

function carry(record: JsonValue, name: string): string {
  const text = `:${toBase64(toUtf8(writeJson(record)))}:`
  if (text.length > MAX_CARRIED_CHARACTERS) throw new RequestError(`the ${name} is too long for a header`)
  return text
}

export interface ProvingFetchOptions extends ProofIdentity {
  readonly audience: string
  /** Also sign the field Authorization of a request that has it. Older services refuse such a proof. */
  readonly coverAuthorization?: boolean
  /** With it the proof is of the profile of WIMSE: returns a current token of this key. */
  readonly wit?: () => Promise<string>
  /** With it every response must be signed by the service, or the call fails. */
  readonly responses?: ResponseCheck
  readonly clock?: () => Instant
  readonly fetch?: Fetch
}

/** The `fetch` of the runtime: an address as text or URL with or without init, or a Request. */
export type SigningFetch = typeof globalThis.fetch

/** A `fetch` that proves every request. A body is read whole first: what is signed must be known before it is sent. */
export function signingFetch(identity: () => ProvingFetchOptions): SigningFetch {
  const proving = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const caller = identity()
    const { audience, clock = systemClock, fetch = globalThis.fetch, responses } = caller
    // The platform's own reading of its arguments, so that nothing is understood in two ways.
    const request = new Request(input, init)
    const { url, signal, body: stream } = request
    const method = request.method.toUpperCase()
    const body = stream === null ? undefined : new Uint8Array(await request.arrayBuffer())
    const about = { method, url, audience, now: clock(), ...(body === undefined ? {} : { body }) }
    const headers = new Headers(request.headers)
    const proof = await prove(about, headers, caller)
    for (const [name, value] of Object.entries(proof)) headers.set(name, value)
    // A redirect would send the proof to an address that the caller did not choose.
    const response = await fetchWithoutRedirect(fetch, url, {
      ...(input instanceof Request ? carriedOver(input) : {}),
      ...init,
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      signal,
    })
    if (responses === undefined) return response
    return requireSigned(response, { method, url, proof }, { ...responses, now: responses.now ?? clock })
  }
  // Bun's `fetch` also opens connections ahead, which needs no proof.
  const { preconnect } = globalThis.fetch as { readonly preconnect?: unknown }
  return preconnect === undefined ? proving : Object.assign(proving, { preconnect })
}

function prove(
  about: RequestToSign,
  headers: Headers,
  { signer, wit, coverAuthorization, ...caller }: ProvingFetchOptions,
): Promise<Readonly<Record<string, string>>> {
  if (wit !== undefined)
    return wit().then((token) =>
      signWimseRequest({ ...about, fields: Object.fromEntries(headers) }, { signer, wit: token }),
    )
  const authorization = coverAuthorization === true ? headers.get('authorization') : null
  return signRequest({ ...about, ...(authorization === null ? {} : { authorization }) }, { ...caller, signer })
}

function carriedOver(request: Request): RequestInit {
  const { cache, credentials, integrity, keepalive, mode, referrer, referrerPolicy } = request
  // A page cannot set this mode, but its navigation requests have it.
  const isAllowed = mode !== 'navigate'
  return { cache, credentials, integrity, keepalive, referrer, referrerPolicy, ...(isAllowed ? { mode } : {}) }
}
