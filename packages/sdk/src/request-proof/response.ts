import {
  MAX_CARRIED_CHARACTERS,
  checkResponseFields,
  checkWit,
  contentDigest,
  isKeyIdOfProof,
  presentedCertificate,
  readCarried,
  readWit,
  seconds,
  signResponseFields,
  toBase64,
  toUtf8,
  writeJson,
} from '@chancery/protocol'
import type { Instant, JoinCertificate, ResponseIdentity, ResponseRefusal, Signer } from '@chancery/protocol'
import { UsageError, VerificationError } from '../errors.ts'
import type { CertificateTrust } from '../trust/certificate-verdict.ts'
import { type Time, timeOf } from '../trust/signing-time.ts'
import { targetOf } from './target.ts'
import type { AcceptedWimse, WimseIdentity } from './wimse.ts'
import type { Caller } from './caller.ts'

/** A response as it is sent. */
export interface ResponseToSign {
  readonly status: number
  readonly body?: Uint8Array | string
  /** As sent in Content-Type; signed when given. */
  readonly contentType?: string
  readonly now?: Instant
}

/** The service that signs: by its certificate, or by its token for callers of WIMSE. */
export type ResponseSigner = { readonly signer: Signer; readonly certificate: JoinCertificate } | WimseIdentity

/**
 * The fields that prove who answered this request, and with what (docs/protocol/request-proof.md section 8). Send the
 * body unchanged. Beta.
 */
export async function signResponse(
  caller: Pick<Caller, 'proof'>,
  response: ResponseToSign,
  by: ResponseSigner,
): Promise<Readonly<Record<string, string>>> {
  const proof = caller.proof.verified ?? proofOf(caller.proof.headers)
  if (proof === undefined) throw new UsageError('the proof of the caller has no nonce')
  const body = typeof response.body === 'string' ? toUtf8(response.body) : (response.body ?? new Uint8Array())
  const identity = identityOf(by)
  const digest = contentDigest(body)
  const { status, contentType } = response
  const facts = {
    created: Number(timeOf(response.now) / seconds(1)),
    nonce: crypto.randomUUID(),
    signer: by.signer,
  }
  const signed = { status, contentDigest: digest, contentType, identity }
  const made = await signResponseFields(
    signed,
    { method: caller.proof.method, target: caller.proof.target, ...proof },
    facts,
  )
  return { 'content-digest': digest, [identity.field]: identity.value, ...made }
}

function identityOf(by: ResponseSigner): ResponseIdentity {
  if ('wit' in by) {
    if (readWit(by.wit)?.certificate.node_public_key !== by.signer.publicKey)
      throw new UsageError('the token is of another key')
    return { field: 'workload-identity-token', value: by.wit }
  }
  const { certificate, signer } = by
  if (certificate.node_public_key !== signer.publicKey) throw new UsageError('the certificate is of another key')
  if (!isKeyIdOfProof(certificate.cert_id)) throw new UsageError('the id of the certificate fits no signature field')
  const value = `:${toBase64(toUtf8(writeJson(certificate)))}:`
  return { field: 'chancery-certificate', value, keyId: certificate.cert_id }
}

/** How the service is known that must sign its responses: by its node keys, or by its certificate. */
export type ResponseTrust =
  | { readonly keys: readonly string[]; readonly maxBodyBytes?: number; readonly trust?: never }
  | ResponseCheck

export interface ResponseCheck {
  readonly keys?: never
  /** A RelyingParty, or another verifier of certificates. */
  readonly trust: CertificateTrust
  /** Which node is the service. Any node of the network could sign a response. */
  readonly isService: (certificate: JoinCertificate) => boolean
  /** Accepts responses with a token, by network name. */
  readonly wimse?: Readonly<Record<string, AcceptedWimse>>
  /** Longest body that is read; 16 MiB when not given. */
  readonly maxBodyBytes?: number
}

export type ResponseProblem =
  | ResponseRefusal
  | 'response_unsigned'
  | 'response_too_large'
  | 'digest_mismatch'
  | 'wrong_service'
  | 'wit_expired'
  | 'wit_untrusted'
  | 'certificate_untrusted'

const MAX_BODY_BYTES = 16 * 1024 * 1024

/** Returns the response with its body read, when it is signed for this request; throws {@link VerificationError}. */
export async function requireSigned(
  response: Response,
  sent: { readonly method: string; readonly url: string; readonly proof: Readonly<Record<string, string>> },
  check: ResponseTrust & { readonly clock: () => Time },
): Promise<Response> {
  const body = await readWithin(response, check.maxBodyBytes ?? MAX_BODY_BYTES)
  const problem = body === undefined ? 'response_too_large' : await findProblem(response, body, sent, check)
  if (problem !== undefined) throw new VerificationError(problem, 'response')
  const { status, statusText, headers } = response
  const isEmpty = status === 204 || status === 205 || status === 304
  return new Response(isEmpty ? null : (body as Uint8Array<ArrayBuffer>), { status, statusText, headers })
}

async function findProblem(
  { status, headers }: Response,
  body: Uint8Array,
  sent: { readonly method: string; readonly url: string; readonly proof: Readonly<Record<string, string>> },
  check: ResponseTrust & { readonly clock: () => Time },
): Promise<ResponseProblem | undefined> {
  const now = timeOf(check.clock())
  const [input, signature, digest] = ['signature-input', 'signature', 'content-digest'].map((name) => headers.get(name))
  const read = readIdentity(headers)
  const proof = proofOf(sent.proof)
  if (!input || !signature || !digest || read === undefined || proof === undefined) return 'response_unsigned'
  const { identity, certificate } = read
  if (digest !== contentDigest(body)) return 'digest_mismatch'
  const signed = { status, contentDigest: digest, contentType: headers.get('content-type') ?? undefined, identity }
  const request = { method: sent.method, target: targetOf(sent.url), ...proof }
  const fields = { 'signature-input': input, signature }
  const refusal = await checkResponseFields(signed, request, fields, { publicKey: certificate.node_public_key, now })
  if (refusal !== undefined) return refusal
  if (check.keys !== undefined) return check.keys.includes(certificate.node_public_key) ? undefined : 'wrong_service'
  const token = await checkToken(identity, check, now)
  if (token !== undefined) return token
  if (!(await check.trust.evaluate(certificate, now)).trusted) return 'certificate_untrusted'
  return check.isService(certificate) ? undefined : 'wrong_service'
}

async function checkToken(
  identity: ResponseIdentity,
  { wimse = {} }: ResponseCheck,
  now: Instant,
): Promise<'wit_expired' | 'wit_untrusted' | undefined> {
  if (identity.field === 'chancery-certificate') return undefined
  const wit = readWit(identity.value)
  const name = wit?.certificate.network_name ?? ''
  const network = Object.hasOwn(wimse, name) ? wimse[name] : undefined
  if (wit === undefined || network === undefined) return 'wit_untrusted'
  return checkWit(wit, { trustDomain: network.trustDomain, keys: network.keys() }, now)
}

function readIdentity(
  headers: Headers,
): { readonly identity: ResponseIdentity; readonly certificate: JoinCertificate } | undefined {
  const token = headers.get('workload-identity-token')
  const carried = headers.get('chancery-certificate')
  // Two identities would have two readings.
  if ((token === null) === (carried === null)) return undefined
  if (token !== null) {
    const certificate = readWit(token)?.certificate
    return certificate && { certificate, identity: { field: 'workload-identity-token', value: token } }
  }
  const text = carried ?? ''
  const certificate =
    text.length <= MAX_CARRIED_CHARACTERS ? readCarried(text, (value) => presentedCertificate(value, '')) : undefined
  if (certificate === undefined) return undefined
  return { certificate, identity: { field: 'chancery-certificate', value: text, keyId: certificate.cert_id } }
}

/** Nonce and signature of a request, from fields with one signature only. */
function proofOf(
  fields: Readonly<Record<string, string | undefined>>,
): { readonly nonce: string; readonly signature: string } | undefined {
  const [, nonce] =
    /^\w+=\([^)]*\)[^()]*;nonce="([\w+/=.~-]{16,128})"[^()]*$/.exec(fields['signature-input'] ?? '') ?? []
  const [, signature] = /^\w+=:([A-Za-z0-9+/]{86}==):$/.exec(fields['signature'] ?? '') ?? []
  return nonce === undefined || signature === undefined ? undefined : { nonce, signature }
}

async function readWithin(response: Response, maxBytes: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = response.body?.getReader()
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done || value === undefined) break
    size += value.length
    if (size > maxBytes) {
      await reader?.cancel()
      return undefined
    }
    chunks.push(value)
  }
  return new Uint8Array(await new Blob(chunks as Uint8Array<ArrayBuffer>[]).arrayBuffer())
}
