import { toBase64 } from '../canonical/base64.ts'
import { type Instant, seconds } from '../canonical/time.ts'
import { toUtf8 } from '../canonical/utf8.ts'
import { type Signer, verifySignature } from '../signing/keys.ts'
import { WIMSE_TAG } from '../wimse/wimse-proof.ts'
import type { SignedRequest } from './request-proof.ts'

/**
 * The request that a response answers. Nonce and signature of its proof make the response one of this request only:
 * another node may use the same nonce.
 */
export interface AnsweredRequest extends SignedRequest {
  readonly nonce: string
  /** Base64. */
  readonly signature: string
}

/** What a response signature covers (docs/protocol/request-proof.md section 8). */
export interface SignedResponse {
  readonly status: number
  readonly contentDigest: string
  readonly contentType?: string | undefined
  /** Who signs: a field of the response and its value. */
  readonly identity: ResponseIdentity
}

export type ResponseIdentity =
  | { readonly field: 'chancery-certificate'; readonly value: string; readonly keyId: string }
  | { readonly field: 'workload-identity-token'; readonly value: string }

const OWN_TAG = 'chancery-response-v2'
const MAX_AGE: Instant = seconds(60)
const MAX_AHEAD: Instant = seconds(30)

/** The two fields of the signature of a response. */
export type ResponseSignature = { readonly 'signature-input': string; readonly signature: string }

export async function signResponseFields(
  response: SignedResponse,
  request: AnsweredRequest,
  facts: { readonly created: number; readonly nonce: string; readonly signer: Signer },
): Promise<ResponseSignature> {
  const parameters = writeParameters(response, request, facts)
  const signature = toBase64(await facts.signer.sign(responseBase(response, request, parameters)))
  const label = labelOf(response)
  return { 'signature-input': `${label}=${parameters}`, signature: `${label}=:${signature}:` }
}

export type ResponseRefusal = 'response_malformed' | 'response_stale' | 'response_signature_invalid'

/** Why a response is not one to this request under this key, or undefined. The digest was compared before. */
export async function checkResponseFields(
  response: SignedResponse,
  request: AnsweredRequest,
  fields: ResponseSignature,
  against: { readonly publicKey: string; readonly now: Instant },
): Promise<ResponseRefusal | undefined> {
  const input = fields['signature-input']
  const [, created = ''] = /;created=([1-9]\d{0,11})[;]/.exec(input) ?? []
  const [, nonce = ''] = /;nonce="([\w.-]{16,64})"/.exec(input) ?? []
  const parameters = writeParameters(response, request, { created: Number(created), nonce })
  const label = labelOf(response)
  const [, signature] = /^[a-z]+=:([A-Za-z0-9+/]{86}==):$/.exec(fields.signature) ?? []
  // One spelling: what was not written so was signed for something else, such as another request.
  if (signature === undefined || input !== `${label}=${parameters}` || !fields.signature.startsWith(`${label}=`))
    return 'response_malformed'
  const age = against.now - seconds(Number(created))
  if (age > MAX_AGE || age < -MAX_AHEAD) return 'response_stale'
  const base = responseBase(response, request, parameters)
  return (await verifySignature(against.publicKey, base, signature)) ? undefined : 'response_signature_invalid'
}

function labelOf({ identity }: SignedResponse): string {
  return identity.field === 'chancery-certificate' ? 'node' : 'wimse'
}

function componentsOf({ contentType, identity }: SignedResponse): readonly string[] {
  const type = contentType === undefined ? [] : ['"content-type"']
  return ['"@status"', '"content-digest"', ...type, `"${identity.field}"`, '"@method";req', '"@request-target";req']
}

function writeParameters(
  response: SignedResponse,
  request: AnsweredRequest,
  { created, nonce }: { readonly created: number; readonly nonce: string },
): string {
  const list = `(${componentsOf(response).join(' ')});created=${created}`
  const proof = `chancery-req-sig="${request.signature}"`
  const { identity } = response
  if (identity.field === 'chancery-certificate')
    return `${list};nonce="${request.nonce}";keyid="${identity.keyId}";alg="ed25519";tag="${OWN_TAG}";${proof}`
  const expires = created + Number(MAX_AGE / seconds(1))
  return `${list};expires=${expires};nonce="${nonce}";tag="${WIMSE_TAG}";wimse-req-nonce="${request.nonce}";${proof}`
}

/** RFC 9421 sections 2.4 and 2.5. Its first line differs from that of every request, so neither counts as the other. */
function responseBase(response: SignedResponse, request: AnsweredRequest, parameters: string): Uint8Array {
  const { status, contentDigest, contentType, identity } = response
  const values: Readonly<Record<string, string>> = {
    '"@status"': String(status),
    '"content-digest"': contentDigest,
    '"content-type"': contentType ?? '',
    [`"${identity.field}"`]: identity.value,
    '"@method";req': request.method,
    '"@request-target";req': request.target,
  }
  const lines = componentsOf(response).map((name) => `${name}: ${values[name]}`)
  return toUtf8([...lines, `"@signature-params": ${parameters}`].join('\n'))
}
