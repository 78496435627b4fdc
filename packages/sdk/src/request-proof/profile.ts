import { sha256, toBase64, toUtf8 } from '@chancery/protocol'

/** The fields of a request proof (docs/protocol/request-proof.md), in lower case. */
export const PROOF_FIELDS = [
  'chancery-certificate',
  'chancery-audience',
  'content-digest',
  'signature-input',
  'signature',
] as const
export type ProofField = (typeof PROOF_FIELDS)[number]
export type ProofHeaders = Readonly<Record<ProofField, string>>

export const MAX_CERTIFICATE_CHARACTERS = 8192
export const MAX_AUDIENCE_CHARACTERS = 256
/** How old a proof may be, and how far ahead of ours the clock of a node. */
export const MAX_AGE_SECONDS = 60
export const MAX_AHEAD_SECONDS = 30

const COMPONENTS = '("@method" "@request-target" "content-digest" "chancery-audience" "chancery-certificate")'
const TAG = 'chancery-node-v1'

export interface ProofParameters {
  /** Whole seconds since 1970. */
  readonly created: number
  readonly nonce: string
  /** `cert_id` of the certificate. */
  readonly keyId: string
}

/** What a proof is about, as it travels. */
export interface SignedRequest {
  readonly method: string
  /** Path and query as in the request line. */
  readonly target: string
}

export function contentDigest(body: Uint8Array): string {
  return `sha-256=:${toBase64(sha256(body))}:`
}

export function writeParameters({ created, nonce, keyId }: ProofParameters): string {
  return `${COMPONENTS};created=${created};nonce="${nonce}";keyid="${keyId}";alg="ed25519";tag="${TAG}"`
}

const NONCE = '[A-Za-z0-9._-]{16,64}'
// A quoted key id holds neither quote nor backslash, so nothing in it has to be unescaped.
const KEY_ID = '[\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]{1,256}'
const PARAMETERS = new RegExp(
  `^${escapeRegExp(COMPONENTS)};created=([1-9][0-9]{0,11});nonce="(${NONCE})";keyid="(${KEY_ID})";alg="ed25519";tag="${TAG}"$`,
)

/** The one spelling of this profile; undefined for any other. */
export function readParameters(text: string): ProofParameters | undefined {
  const [, created, nonce, keyId] = PARAMETERS.exec(text) ?? []
  if (created === undefined || nonce === undefined || keyId === undefined) return undefined
  return { created: Number(created), nonce, keyId }
}

export function isKeyIdOfProof(text: string): boolean {
  return new RegExp(`^${KEY_ID}$`).test(text)
}

/** RFC 9421 section 2.5. */
export function signatureBase(
  { method, target }: SignedRequest,
  fields: Pick<ProofHeaders, 'content-digest' | 'chancery-audience' | 'chancery-certificate'>,
  parameters: string,
): Uint8Array {
  return toUtf8(
    [
      `"@method": ${method}`,
      `"@request-target": ${target}`,
      `"content-digest": ${fields['content-digest']}`,
      `"chancery-audience": ${fields['chancery-audience']}`,
      `"chancery-certificate": ${fields['chancery-certificate']}`,
      `"@signature-params": ${parameters}`,
    ].join('\n'),
  )
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}
