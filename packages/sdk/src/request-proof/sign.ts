import {
  MAX_CARRIED_CHARACTERS,
  PROOF_AUDIENCE,
  contentDigest,
  isAttestationOfKey,
  isKeyIdOfProof,
  readAttestation,
  readJson,
  signatureBase,
  toBase64,
  toUtf8,
  writeJson,
  writeProofParameters,
} from '@chancery/protocol'
import type { Attestation, JoinCertificate, JsonValue, ProofHeaders, Signer } from '@chancery/protocol'
import { type Fetch, fetchWithoutRedirect } from '../http/transport.ts'
import { systemClock } from '../http/system-clock.ts'
import { UsageError } from '../errors.ts'
import { type Time, timeOf } from '../trust/signing-time.ts'
import type { ProofProfile, SigningProfile } from './profile.ts'
import { profileToSign } from './verify.ts'
import { type ResponseTrust, requireSigned } from './response.ts'
import { type RequestToSign, targetOf } from './target.ts'

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
  if (certificate.node_public_key !== signer.publicKey) throw new UsageError('the certificate is of another key')
  if (!isKeyIdOfProof(certificate.cert_id)) throw new UsageError('the id of the certificate fits no signature field')
  if (!PROOF_AUDIENCE.test(request.audience)) throw new UsageError('the audience is one word of visible ASCII')
  if (attestation !== undefined && !isAttestationOfKey(attestation, signer.publicKey))
    throw new UsageError('the attestation is of another key')
  if (attestation !== undefined && attestation.issuer_sovereign_id !== certificate.network_name)
    throw new UsageError('the attestation is of another network than the certificate')
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
  const created = Number(timeOf(request.now) / 1_000_000n)
  const nonce = crypto.randomUUID()
  const parameters = writeProofParameters({ created, nonce, keyId: certificate.cert_id }, profile)
  const about = { method: request.method.toUpperCase(), target: targetOf(request.url) }
  const signature = await signer.sign(signatureBase(about, covered, parameters, profile))
  return { ...fields, 'signature-input': `node=${parameters}`, signature: `node=:${toBase64(signature)}:` }
}

function carry(record: JsonValue, name: string): string {
  const text = `:${toBase64(toUtf8(writeJson(record)))}:`
  if (text.length > MAX_CARRIED_CHARACTERS) throw new UsageError(`the ${name} is too long for a header`)
  return text
}

/** Who calls with a signing fetch. */
export interface FetchIdentity {
  readonly signer: Signer
  readonly certificate: JoinCertificate | (() => Promise<JoinCertificate>)
  /** Of this key, by the network of the certificate: sent with every request. */
  readonly attestation?: Attestation | string
  readonly fetch?: Fetch
  readonly clock?: () => Time
  /** A current token of this key, for the profile of WIMSE. */
  readonly wit?: (certificate: JoinCertificate) => Promise<string>
}

export interface FetchOptions {
  /** The name of the service; the origin of the URL when not given. */
  readonly audience?: string
  /** Null: send none. */
  readonly attestation?: Attestation | string | null
  /** Another form of proof, such as `wimse()` of `@chancery/sdk/wimse`. */
  readonly profile?: ProofProfile
  /** Also sign the field Authorization of a request that has it. Older services refuse such a proof. */
  readonly signAuthorization?: boolean
  /** With it every response must be signed by the service, or the call fails with VerificationError. Beta. */
  readonly responses?: ResponseTrust
}

/** The `fetch` of the runtime: an address as text or URL with or without init, or a Request. */
export type SigningFetch = typeof globalThis.fetch

/** A `fetch` that proves every request. A body is read whole first: what is signed must be known before it is sent. */
export function createSigningFetch(identity: FetchIdentity, options: FetchOptions = {}): SigningFetch {
  const { fetch = globalThis.fetch, clock = systemClock } = identity
  const { responses } = options
  const attestation = readBound(options.attestation === undefined ? identity.attestation : options.attestation)
  if (options.profile !== undefined && attestation !== undefined && options.attestation !== undefined)
    throw new UsageError('this profile carries no attestation')
  const proving = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    // The platform's own reading of its arguments, so that nothing is understood in two ways.
    const request = new Request(input, init)
    const { url, signal, body: stream } = request
    const method = request.method.toUpperCase()
    const body = stream === null ? undefined : new Uint8Array(await request.arrayBuffer())
    const { audience = new URL(url).origin } = options
    const about = { method, url, audience, now: timeOf(clock()), ...(body === undefined ? {} : { body }) }
    const headers = new Headers(request.headers)
    const proof = await prove(about, headers, { identity, options, attestation })
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
    return requireSigned(response, { method, url, proof }, { clock, ...responses })
  }
  // Bun's `fetch` also opens connections ahead, which needs no proof.
  const { preconnect } = globalThis.fetch as { readonly preconnect?: unknown }
  return preconnect === undefined ? proving : Object.assign(proving, { preconnect })
}

/** The record that is sent; undefined for one that is named by its id, which a request cannot carry. */
function readBound(given: Attestation | string | null | undefined): Attestation | undefined {
  if (typeof given !== 'string') return given ?? undefined
  return given.startsWith('{') ? readAttestation(readJson(given)) : undefined
}

interface Proving {
  readonly identity: FetchIdentity
  readonly options: FetchOptions
  readonly attestation: Attestation | undefined
}

async function prove(
  about: RequestToSign,
  headers: Headers,
  { identity, options, attestation }: Proving,
): Promise<Readonly<Record<string, string>>> {
  const { signer, certificate: given, wit } = identity
  const certificate = typeof given === 'function' ? await given() : given
  const { sign } = (options.profile ?? {}) as Partial<SigningProfile>
  if (sign !== undefined) {
    if (wit === undefined) throw new UsageError('this profile needs a node, which gets its tokens')
    return sign({ ...about, fields: Object.fromEntries(headers) }, { signer, wit: await wit(certificate) })
  }
  const authorization = options.signAuthorization === true ? headers.get('authorization') : null
  return signRequest(
    { ...about, ...(authorization === null ? {} : { authorization }) },
    { signer, certificate, ...(attestation === undefined ? {} : { attestation }) },
  )
}

function carriedOver(request: Request): RequestInit {
  const { cache, credentials, integrity, keepalive, mode, referrer, referrerPolicy } = request
  // A page cannot set this mode, but its navigation requests have it.
  const isAllowed = mode !== 'navigate'
  return { cache, credentials, integrity, keepalive, referrer, referrerPolicy, ...(isAllowed ? { mode } : {}) }
}
