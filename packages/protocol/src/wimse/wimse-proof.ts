import { toUtf8 } from '../canonical/utf8.ts'
import { type Instant, seconds } from '../canonical/time.ts'
import type { JoinCertificate } from '../artifacts/join-certificate.ts'
import type { SignedRequest } from '../proofs/request-proof.ts'
import { verifySignature } from '../signing/keys.ts'
import { type WitRefusal, checkWit, readWit } from './wit.ts'

/** The profile of draft-ietf-wimse-http-signature-06 (docs/protocol/wimse.md). */
export const WIMSE_TAG = 'wimse-workload-to-workload'

/** Covered always, and covered when the request has them. */
const ALWAYS = ['@method', '@request-target'] as const
const WHEN_THERE = ['content-type', 'content-digest', 'authorization', 'txn-token'] as const
const TOKEN = 'workload-identity-token'

const MAX_COMPONENTS = 16
const MAX_INPUT_CHARACTERS = 2048
const MAX_AGE: Instant = seconds(60)
const MAX_AHEAD: Instant = seconds(30)

export interface WimseParameters {
  /** Whole seconds since 1970. */
  readonly created: number
  readonly expires: number
  readonly nonce: string
  readonly audience: string
}

/** Values of the fields of a message that a signature may cover, in lower case. */
export type SignedFields = Readonly<Record<string, string>>

/** The components of a request with these fields, in the order of the draft. */
export function wimseComponents(fields: SignedFields): readonly string[] {
  return [...ALWAYS, ...WHEN_THERE.filter((name) => fields[name] !== undefined), TOKEN]
}

export function writeWimseParameters(components: readonly string[], parameters: WimseParameters): string {
  const { created, expires, nonce, audience } = parameters
  const list = components.map((name) => `"${name}"`).join(' ')
  return `(${list});created=${created};expires=${expires};nonce="${nonce}";tag="${WIMSE_TAG}";wimse-aud="${audience}"`
}

/** RFC 9421 section 2.5, for components without parameters. */
export function wimseBase(
  { method, target }: SignedRequest,
  fields: SignedFields,
  components: readonly string[],
  parameters: string,
): Uint8Array {
  const values: SignedFields = { ...fields, '@method': method, '@request-target': target }
  const lines = components.map((name) => `"${name}": ${values[name] ?? ''}`)
  return toUtf8([...lines, `"@signature-params": ${parameters}`].join('\n'))
}

/** A proof that is spelled as the profile says. Nothing in it was verified. */
export interface WimseProof {
  readonly components: readonly string[]
  /** As they came: they are signed in this spelling. */
  readonly text: string
  readonly parameters: WimseParameters
  /** Base64. */
  readonly signature: string
}

const MEMBER =
  /([a-z*][a-z0-9_.*-]*)=(\(("[^"\\]*"(?: "[^"\\]*")*)?\)((?:;[a-z][a-z0-9_.*-]*=(?:\d{1,12}|"[ !#-[\]-~]*"))*))(?:, |$)/y
const SIGNATURE = /([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]{86}==):(?:, |$)/y
const NAMES: ReadonlySet<string> = new Set(['created', 'expires', 'nonce', 'tag', 'wimse-aud'])

/** Reads the two fields of a signature. Of several signatures the one with the label `wimse` counts. */
function readWimseProof(input: string, signatures: string): WimseProof | undefined {
  if (input.length > MAX_INPUT_CHARACTERS || signatures.length > MAX_INPUT_CHARACTERS) return undefined
  const inputs = matchAll(MEMBER, input)
  const label = inputs?.length === 1 ? inputs[0]?.[1] : 'wimse'
  const named = inputs?.filter((each) => each[1] === label) ?? []
  const made = matchAll(SIGNATURE, signatures)?.filter((each) => each[1] === label) ?? []
  const [[, , text = '', list = '', rest = ''] = [], signature] = [named[0], made[0]?.[2]]
  if (named.length !== 1 || made.length !== 1 || signature === undefined) return undefined
  const components = list.split(' ').map((name) => name.slice(1, -1))
  const parameters = readParameters(rest)
  return parameters && areComponents(components) ? { components, text, parameters, signature } : undefined
}

function areComponents(components: readonly string[]): boolean {
  return (
    components.length <= MAX_COMPONENTS &&
    new Set(components).size === components.length &&
    [...ALWAYS, TOKEN].every((name) => components.includes(name)) &&
    components.every((name) => name === '@method' || name === '@request-target' || /^[a-z0-9-]+$/.test(name))
  )
}

/** `keyid` and `alg` are forbidden by the draft; a parameter that is not known is not understood. */
function readParameters(text: string): WimseParameters | undefined {
  const values = new Map<string, string>()
  for (const [, name = '', value = ''] of text.matchAll(/;([^=;]+)=(\d+|"[^"]*")/g)) {
    if (!NAMES.has(name) || values.has(name)) return undefined
    values.set(name, value)
  }
  const [created, expires] = [Number(values.get('created')), Number(values.get('expires'))]
  const [nonce, audience] = [unquoted(values.get('nonce')), unquoted(values.get('wimse-aud'))]
  if (!Number.isInteger(created) || !Number.isInteger(expires) || unquoted(values.get('tag')) !== WIMSE_TAG)
    return undefined
  // Without an audience only path and query would be bound, and the proof would count at every host.
  if (nonce === undefined || !/^[\w+/=.~-]{16,128}$/.test(nonce) || audience === undefined) return undefined
  return { created, expires, nonce, audience }
}

function unquoted(text: string | undefined): string | undefined {
  return /^"(.*)"$/.exec(text ?? '')?.[1]
}

/** All matches from the first to the last character; undefined when something else is between them. */
function matchAll(pattern: RegExp, text: string): readonly RegExpExecArray[] | undefined {
  const found: RegExpExecArray[] = []
  const sticky = new RegExp(pattern.source, 'y')
  while (sticky.lastIndex < text.length) {
    const match = sticky.exec(text)
    if (match === null || found.length === 8) return undefined
    found.push(match)
  }
  return text.endsWith(', ') ? undefined : found
}

/** What one network is known by. */
export interface WimseNetwork {
  readonly trustDomain: string
  /** Public keys of its authority that may have signed a token about this certificate. */
  readonly keys: (certificate: JoinCertificate) => readonly (string | Uint8Array)[]
}

export interface WimsePolicy {
  readonly audience: string
  /** By `network_name` of the certificate. */
  readonly network: (name: string) => WimseNetwork | undefined
  readonly now: Instant
}

export type WimseRefusal =
  | 'proof_malformed'
  | 'wrong_audience'
  | 'proof_stale'
  | 'wit_malformed'
  | 'signature_invalid'
  | WitRefusal

export interface WimseCaller {
  readonly certificate: JoinCertificate
  readonly created: number
  readonly nonce: string
  /** The verified signature, Base64. */
  readonly signature: string
  /** Of the body as signed; undefined when the caller says that there is none. */
  readonly contentDigest: string | undefined
}

/** True for a request of this profile. */
export function isWimseRequest(field: (name: string) => readonly string[]): boolean {
  return field(TOKEN).length > 0
}

/**
 * Verifies token and signature of a request, without its body. The caller then checks the certificate by its list, the
 * nonce, and the digest of the body.
 */
export async function verifyWimseRequest(
  request: SignedRequest & { readonly field: (name: string) => readonly string[] },
  { audience, network, now }: WimsePolicy,
): Promise<WimseCaller | WimseRefusal> {
  const { field } = request
  const [token, input, signature] = [TOKEN, 'signature-input', 'signature'].map((name) => only(field(name)))
  if (token === undefined || input === undefined || signature === undefined) return 'proof_malformed'
  const proof = readWimseProof(input, signature)
  const fields = proof && coveredFields(proof, field)
  if (proof === undefined || fields === undefined) return 'proof_malformed'
  const { created, expires, nonce } = proof.parameters
  if (proof.parameters.audience !== audience) return 'wrong_audience'
  const age = now - seconds(created)
  if (age > MAX_AGE || age < -MAX_AHEAD || now >= seconds(expires) || expires <= created) return 'proof_stale'
  const wit = readWit(token)
  if (wit === undefined) return 'wit_malformed'
  const base = wimseBase(request, fields, proof.components, proof.text)
  if (!(await verifySignature(wit.certificate.node_public_key, base, proof.signature))) return 'signature_invalid'
  const known = network(wit.certificate.network_name)
  if (known === undefined) return 'wit_untrusted'
  const refusal = await checkWit(wit, { ...known, keys: known.keys(wit.certificate) }, now)
  if (refusal !== undefined) return refusal
  return {
    certificate: wit.certificate,
    created,
    nonce,
    signature: proof.signature,
    contentDigest: fields['content-digest'],
  }
}

/** The covered fields, when all of them are there and nothing is there that must be covered and is not. */
function coveredFields(
  { components }: WimseProof,
  field: (name: string) => readonly string[],
): SignedFields | undefined {
  const fields: Record<string, string> = {}
  for (const name of components) {
    if (name.startsWith('@')) continue
    const values = field(name)
    if (values.length === 0) return undefined
    fields[name] = values.join(', ')
  }
  return WHEN_THERE.every((name) => fields[name] !== undefined || field(name).length === 0) ? fields : undefined
}

function only(values: readonly string[]): string | undefined {
  return values.length === 1 ? values[0] : undefined
}
