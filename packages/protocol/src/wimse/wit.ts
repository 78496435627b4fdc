import { fromBase64, fromBase64Url, toBase64, toBase64Url } from '../canonical/base64.ts'
import { writeJson } from '../canonical/canonical-json.ts'
import { type JsonObject, type JsonValue, isJsonObject, member, toUtf8 } from '../canonical/utf8.ts'
import { readJsonBytes } from '../canonical/read-json.ts'
import { type Instant, seconds } from '../canonical/time.ts'
import { type JoinCertificate, presentedCertificate, windowOf } from '../artifacts/join-certificate.ts'
import { readOrUndefined } from '../reading/read-or-undefined.ts'
import { type JwsParts, readJwsHeader, signJws, verifyJws, writeCompactJws } from '../signing/jws.ts'
import type { Signer } from '../signing/keys.ts'

/** Media type of a workload identity token (draft-ietf-wimse-workload-creds-02). */
const TYPE = 'wit+jwt'

const MAX_WIT_CHARACTERS = 8192
/** Longest life of a token; shorter when the certificate ends before. */
const WIT_LIFETIME: Instant = seconds(3600)
const MAX_AHEAD: Instant = seconds(30)

/** The trust domain of a network: a host name in lower case, because it is the authority of a URI. */
export function isTrustDomain(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/.test(text)
}

/** The name of a node in a trust domain. The revocation list names it by its last segment. */
function workloadIdentifier(trustDomain: string, certId: string): string {
  return `wimse://${trustDomain}/${encodeURIComponent(certId)}`
}

export interface WitFacts {
  readonly certificate: JoinCertificate
  readonly trustDomain: string
  /** The address of the authority, for readers; no key is found by it. */
  readonly issuer?: string | undefined
  readonly now: Instant
  /** The token ends here at the latest. */
  readonly notAfter: Instant
}

/** A token about a certificate, signed by the authority. Returns its text, and when it ends in seconds since 1970. */
export async function signWit(
  facts: WitFacts,
  signer: Signer,
): Promise<{ readonly wit: string; readonly exp: number }> {
  const { certificate, trustDomain, issuer, now, notAfter } = facts
  const last = [now + WIT_LIFETIME, notAfter, windowOf(certificate)?.expiresAt ?? now].reduce((a, b) => (a < b ? a : b))
  const exp = Number(last / seconds(1))
  const x = toBase64Url(fromBase64(certificate.node_public_key) ?? new Uint8Array())
  const claims = {
    ...(issuer === undefined ? {} : { iss: issuer }),
    sub: workloadIdentifier(trustDomain, certificate.cert_id),
    iat: Number(now / seconds(1)),
    exp,
    jti: certificate.cert_id,
    cnf: { jwk: { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', x } },
    chancery_certificate: toBase64(toUtf8(writeJson(certificate))),
  }
  const jws = await signJws({ kid: signer.keyId, typ: TYPE }, toUtf8(writeJson(claims)), signer)
  return { wit: writeCompactJws(jws), exp }
}

/** A token that has its form. Nothing in it was verified, except that it agrees with the certificate in it. */
export interface Wit {
  readonly certificate: JoinCertificate
  readonly subject: string
  readonly issuedAt: Instant
  readonly expiresAt: Instant
  readonly jws: JwsParts
}

/** Reads a token; undefined when it has not its form, or when certificate, key and end do not agree. */
export function readWit(text: string): Wit | undefined {
  const [head = '', payload = '', signature = '', ...more] =
    text.length <= MAX_WIT_CHARACTERS ? text.split('.') : ['', '', '', '']
  const header = more.length === 0 ? readJwsHeader(head) : undefined
  const bytes = header && member(header, 'typ') === TYPE ? fromBase64Url(payload) : undefined
  const claims = bytes && readOrUndefined(() => readJsonBytes(bytes))
  if (!isJsonObject(claims)) return undefined
  const [subject, iat, exp] = [member(claims, 'sub'), member(claims, 'iat'), member(claims, 'exp')]
  const certificate = certificateOf(claims)
  if (typeof subject !== 'string' || !isTime(iat) || !isTime(exp) || certificate === undefined) return undefined
  if (keyOf(claims) !== certificate.node_public_key) return undefined
  const jws = { protected: head, payload, signature }
  return { certificate, subject, issuedAt: seconds(iat), expiresAt: seconds(exp), jws }
}

export type WitRefusal = 'wit_expired' | 'wit_untrusted'

/** Why a token is not one of this network, or undefined. Whether its certificate is trusted is another question. */
export async function checkWit(
  { certificate, subject, issuedAt, expiresAt, jws }: Wit,
  network: { readonly trustDomain: string; readonly keys: readonly (string | Uint8Array)[] },
  now: Instant,
): Promise<WitRefusal | undefined> {
  if (now >= expiresAt || issuedAt > now + MAX_AHEAD) return 'wit_expired'
  if (subject !== workloadIdentifier(network.trustDomain, certificate.cert_id)) return 'wit_untrusted'
  const window = windowOf(certificate)
  if (window === undefined || expiresAt > window.expiresAt) return 'wit_untrusted'
  for (const key of network.keys) if (await verifyJws(jws, key)) return undefined
  return 'wit_untrusted'
}

function certificateOf(claims: JsonObject): JoinCertificate | undefined {
  const text = member(claims, 'chancery_certificate')
  const bytes = typeof text === 'string' ? fromBase64(text) : undefined
  return bytes && readOrUndefined(() => presentedCertificate(readJsonBytes(bytes), ''))
}

/** The confirmation key, in the spelling of our records. */
function keyOf(claims: JsonObject): string | undefined {
  const confirmation = member(claims, 'cnf')
  const jwk = isJsonObject(confirmation) ? member(confirmation, 'jwk') : undefined
  if (!isJsonObject(jwk) || member(jwk, 'kty') !== 'OKP' || member(jwk, 'crv') !== 'Ed25519') return undefined
  const [algorithm, x] = [member(jwk, 'alg'), member(jwk, 'x')]
  if ((algorithm !== 'EdDSA' && algorithm !== 'Ed25519') || typeof x !== 'string') return undefined
  const bytes = fromBase64Url(x)
  return bytes?.length === 32 ? toBase64(bytes) : undefined
}

function isTime(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && value > 0 && value < 1e12
}
