import { fromBase64, fromBase64Url, toBase64Url } from '../canonical/base64.ts'
import { canonicalBytes, writeJson } from '../canonical/canonical-json.ts'
import { sha256 } from '../canonical/digest.ts'
import { readJsonBytes } from '../canonical/read-json.ts'
import { type Instant, seconds } from '../canonical/time.ts'
import { type JsonObject, type JsonValue, isJsonObject, member, toUtf8 } from '../canonical/utf8.ts'
import { type Attestation, readAttestation } from '../artifacts/attestation.ts'
import { type JoinCertificate, presentedCertificate } from '../artifacts/join-certificate.ts'
import { readOrUndefined } from '../reading/read-or-undefined.ts'
import { asJson } from '../signing/verify-any.ts'
import {
  FOREIGN_KEY_HEADERS,
  type JwsParts,
  readCompactJws,
  signJws,
  verifyJws,
  writeCompactJws,
} from '../signing/jws.ts'
import { type Signer, readPublicKey } from '../signing/keys.ts'
import { isWithinLimits } from '../trust/presented-certificate.ts'
import { isAttestationOfKey } from './caller-proof.ts'

/** Sizes in characters (docs/protocol/access-tokens.md). */
export const ASSERTION_LIMITS = { assertion: 24_576, carried: 8192, keyId: 256, lifetimeSeconds: 60 } as const

const MAX_AHEAD: Instant = seconds(30)
const TYPES: readonly (JsonValue | undefined)[] = [undefined, 'JWT', 'client-authentication+jwt']
const ALGORITHMS: readonly (JsonValue | undefined)[] = ['EdDSA', 'Ed25519']
/** An RFC 7638 thumbprint: 32 bytes in base64url. */
const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/

/** The public members of an Ed25519 key. */
export function jwkOf(publicKey: string): { readonly crv: 'Ed25519'; readonly kty: 'OKP'; readonly x: string } {
  return { crv: 'Ed25519', kty: 'OKP', x: toBase64Url(fromBase64(publicKey) ?? new Uint8Array()) }
}

/** The RFC 7638 thumbprint of a key. The members are those that the RFC names for its type, in their order. */
export function thumbprintOf(members: Readonly<Record<string, string>>): string {
  const ordered = Object.fromEntries(Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return toBase64Url(sha256(toUtf8(JSON.stringify(ordered))))
}

/** The client identifier of a node: the thumbprint URI of its key (RFC 9278). */
export function clientIdOf(publicKey: string): string {
  return `urn:ietf:params:oauth:jwk-thumbprint:sha-256:${thumbprintOf(jwkOf(publicKey))}`
}

export type AssertionRefusal =
  | 'assertion_malformed'
  | 'assertion_algorithm'
  | 'wrong_audience'
  | 'assertion_stale'
  | 'certificate_malformed'
  | 'client_id_mismatch'

/** Who reads an assertion, and when. */
export interface AssertionRules {
  /** The issuer of the gateway. */
  readonly audience: string
  /** Another place where the request names its client. */
  readonly clientId: string | undefined
  readonly now: Instant
  readonly maxAgeSeconds: number
  /** The authority reads an assertion after the gateway, when it may have ended. */
  readonly mayHaveEnded: boolean
}

/** A client assertion without its signature: its form, times and certificate fit. */
export interface ClientAssertion {
  readonly jws: JwsParts
  readonly certificate: JoinCertificate
  readonly clientId: string
  readonly jti: string
  readonly issuedAt: Instant
  /** Thumbprint of the key that signs the DPoP proof, when it is not the key of the node. */
  readonly proofKey: string | undefined
  /** As carried. */
  readonly attestation: JsonValue | undefined
}

/** Reads an assertion in the order of docs/protocol/access-tokens.md. The signature and the attestation come after it. */
export function readClientAssertion(text: string, rules: AssertionRules): ClientAssertion | AssertionRefusal {
  const jws = text.length <= ASSERTION_LIMITS.assertion ? readCompactJws(text) : undefined
  if (jws === undefined) return 'assertion_malformed'
  const refusal = headerRefusal(jws.header)
  if (refusal !== undefined) return refusal
  const claims = readClaims(jws.claims, rules)
  if (typeof claims === 'string') return claims
  const certificate = readCarriedClaim(member(jws.claims, 'chancery_certificate'), (value) =>
    presentedCertificate(value, ''),
  )
  if (certificate === undefined || !isWithinLimits(certificate)) return 'certificate_malformed'
  if (readPublicKey(certificate.node_public_key) === undefined) return 'certificate_malformed'
  const clientId = clientIdOf(certificate.node_public_key)
  const named = [member(jws.claims, 'iss'), member(jws.claims, 'sub'), rules.clientId ?? clientId]
  if (named.some((each) => each !== clientId)) return 'client_id_mismatch'
  const attestation = member(jws.claims, 'chancery_attestation')
  return { jws: jws.parts, certificate, clientId, ...claims, attestation }
}

/** The certificate in an assertion. Nothing else of it was read. */
export function certificateInAssertion(text: string): JoinCertificate | undefined {
  return readCarriedClaim(member(readCompactJws(text)?.claims ?? {}, 'chancery_certificate'), (value) =>
    presentedCertificate(value, ''),
  )
}

/** True when the key of the certificate signed the assertion. */
export function isAssertionSigned({ jws, certificate }: ClientAssertion): Promise<boolean> {
  return verifyJws(jws, certificate.node_public_key)
}

export type AttestationRefusal = 'attestation_malformed' | 'attestation_not_bound' | 'attestation_issuer_mismatch'

/** An attestation as it came and as it was read. Its signatures were not verified. */
export interface CarriedAttestation {
  readonly record: Attestation
  readonly wire: JsonValue
}

/** The attestation of an assertion: about its key, and issued by the network of its certificate. */
export function attestationOfAssertion({
  certificate,
  attestation,
}: Pick<ClientAssertion, 'certificate' | 'attestation'>): CarriedAttestation | AttestationRefusal | undefined {
  if (attestation === undefined) return undefined
  const carried = readCarriedClaim(attestation, (wire) => ({ record: readAttestation(wire), wire }))
  if (carried === undefined) return 'attestation_malformed'
  if (!isAttestationOfKey(carried.record, certificate.node_public_key)) return 'attestation_not_bound'
  return carried.record.issuer_sovereign_id === certificate.network_name ? carried : 'attestation_issuer_mismatch'
}

function headerRefusal(header: JsonObject): AssertionRefusal | undefined {
  if (!ALGORITHMS.includes(member(header, 'alg'))) return 'assertion_algorithm'
  const keyId = member(header, 'kid') ?? ''
  const isOurs =
    TYPES.includes(member(header, 'typ')) &&
    typeof keyId === 'string' &&
    keyId.length <= ASSERTION_LIMITS.keyId &&
    FOREIGN_KEY_HEADERS.every((name) => member(header, name) === undefined)
  return isOurs ? undefined : 'assertion_malformed'
}

function readClaims(
  claims: JsonObject,
  rules: AssertionRules,
): Pick<ClientAssertion, 'jti' | 'issuedAt' | 'proofKey'> | AssertionRefusal {
  const audience = member(claims, 'aud')
  const [only, ...more] = Array.isArray(audience) ? (audience as readonly JsonValue[]) : [audience]
  if (only !== rules.audience || more.length > 0) return 'wrong_audience'
  const [iat, exp, nbf = iat] = [member(claims, 'iat'), member(claims, 'exp'), member(claims, 'nbf')]
  if (!isTime(iat) || !isTime(exp) || !isTime(nbf)) return 'assertion_malformed'
  if (!isCurrent({ iat, exp, nbf }, rules)) return 'assertion_stale'
  const jti = member(claims, 'jti')
  if (typeof jti !== 'string' || !/^[!-~]{16,128}$/.test(jti)) return 'assertion_malformed'
  const confirmed = readConfirmation(member(claims, 'cnf'))
  return confirmed === undefined ? 'assertion_malformed' : { jti, issuedAt: seconds(iat), ...confirmed }
}

function isCurrent(
  { iat, exp, nbf }: { readonly iat: number; readonly exp: number; readonly nbf: number },
  { now, maxAgeSeconds, mayHaveEnded }: AssertionRules,
): boolean {
  const age = now - seconds(iat)
  const life = exp - iat
  return (
    age <= seconds(maxAgeSeconds) &&
    age >= -MAX_AHEAD &&
    life >= 1 &&
    life <= ASSERTION_LIMITS.lifetimeSeconds &&
    (mayHaveEnded || now < seconds(exp)) &&
    seconds(nbf) <= now + MAX_AHEAD
  )
}

/** The key that may sign the DPoP proof. Other forms of confirmation are not understood. */
function readConfirmation(cnf: JsonValue | undefined): { readonly proofKey: string | undefined } | undefined {
  if (cnf === undefined) return { proofKey: undefined }
  const jkt = isJsonObject(cnf) && Object.keys(cnf).length === 1 ? member(cnf, 'jkt') : undefined
  return typeof jkt === 'string' && THUMBPRINT.test(jkt) ? { proofKey: jkt } : undefined
}

function isTime(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= Number.MAX_SAFE_INTEGER
}

/** Reads a record that a claim carries: JSON in UTF-8, in base64url without padding. */
export function readCarriedClaim<Value>(
  text: JsonValue | undefined,
  read: (value: JsonValue) => Value,
): Value | undefined {
  const bytes = typeof text === 'string' && text.length <= ASSERTION_LIMITS.carried ? fromBase64Url(text) : undefined
  return bytes && readOrUndefined(() => read(readJsonBytes(bytes)))
}

export interface AssertionFacts {
  readonly audience: string
  readonly certificate: JoinCertificate
  readonly attestation: Attestation | undefined
  /** Thumbprint of the DPoP key, when it is not the key of the node. */
  readonly proofKey: string | undefined
  readonly jti: string
  readonly now: Instant
}

/** Signs a client assertion with the key of a node. */
export async function signClientAssertion(facts: AssertionFacts, signer: Signer): Promise<string> {
  const { audience, certificate, attestation, proofKey, jti, now } = facts
  const id = clientIdOf(signer.publicKey)
  const iat = Number(now / seconds(1))
  const claims: JsonObject = {
    iss: id,
    sub: id,
    aud: audience,
    jti,
    iat,
    exp: iat + ASSERTION_LIMITS.lifetimeSeconds,
    chancery_certificate: toBase64Url(canonicalBytes(asJson(certificate))),
    ...(attestation === undefined ? {} : { chancery_attestation: toBase64Url(canonicalBytes(asJson(attestation))) }),
    ...(proofKey === undefined ? {} : { cnf: { jkt: proofKey } }),
  }
  return writeCompactJws(await signJws({ typ: 'JWT' }, toUtf8(writeJson(claims)), signer))
}
