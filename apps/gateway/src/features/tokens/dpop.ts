import { TokenRefusal } from '@chancery/contract'
import {
  FOREIGN_KEY_HEADERS,
  type Instant,
  type JsonObject,
  type JwsParts,
  isJsonObject,
  jwkOf,
  member,
  readCompactJws,
  readTrustedPublicKey,
  seconds,
  thumbprintOf,
} from '@chancery/protocol'
import { ed25519Text, importJwk, isSignedBy } from '../../auth/jwk.ts'
import type { TokenResource } from '../../policy/token-policy.ts'

export const DPOP_ALGORITHMS = ['ES256', 'EdDSA', 'Ed25519'] as const
const MAX_CHARACTERS = 4096
const MAX_AGE: Instant = seconds(60)
const MAX_AHEAD: Instant = seconds(30)

/** A verified proof. Whether it was used before is another question. */
export interface DpopProof {
  /** Thumbprint of its key, to which the token is bound. */
  readonly jkt: string
  readonly jti: string
  readonly issuedAt: Instant
}

export interface DpopRules {
  /** Every value of the header field. */
  readonly values: readonly string[]
  readonly endpoint: string
  readonly binding: TokenResource['binding']
  readonly nodeKey: string
  /** The key that the assertion names. */
  readonly proofKey: string | undefined
  readonly now: Instant
}

/** Verifies the proof of a token request (RFC 9449). Undefined without one, where the resource takes Bearer tokens. */
export async function readDpopProof(rules: DpopRules): Promise<DpopProof | undefined> {
  const { values, binding, proofKey } = rules
  const [text] = values
  if (text === undefined) {
    if (binding === 'bearer' && proofKey === undefined) return undefined
    throw new TokenRefusal('dpop_missing')
  }
  if (values.length > 1 || text.length > MAX_CHARACTERS) throw new TokenRefusal('dpop_malformed')
  const proof = readProof(text)
  if (proof === undefined) throw new TokenRefusal('dpop_malformed')
  const { issuedAt } = proof
  if (rules.now - issuedAt > MAX_AGE || issuedAt - rules.now > MAX_AHEAD) throw new TokenRefusal('dpop_stale')
  if (proof.method !== 'POST' || addressOf(proof.target) !== rules.endpoint) throw new TokenRefusal('dpop_target')
  if (!(await isSignedBy(proof.key.object, proof.key.alg, proof.parts))) throw new TokenRefusal('dpop_signature')
  if (proof.key.jkt !== boundKey(rules)) throw new TokenRefusal('dpop_key')
  return { jkt: proof.key.jkt, jti: proof.jti, issuedAt }
}

/** The only key that may sign: the assertion names it, or it is the key of the node. */
function boundKey({ binding, nodeKey, proofKey }: DpopRules): string | undefined {
  const own = thumbprintOf(jwkOf(nodeKey))
  const named = proofKey ?? own
  return binding === 'dpop_node_key' && named !== own ? undefined : named
}

interface ReadProof {
  readonly parts: JwsParts
  readonly key: ProofKey
  readonly method: string
  readonly target: string
  readonly jti: string
  readonly issuedAt: Instant
}

function readProof(text: string): ReadProof | undefined {
  const jws = readCompactJws(text)
  if (jws === undefined || member(jws.header, 'typ') !== 'dpop+jwt') return undefined
  const refused = FOREIGN_KEY_HEADERS.filter((name) => name !== 'jwk')
  if (refused.some((name) => member(jws.header, name) !== undefined)) return undefined
  const key = readProofKey(jws.header)
  const [method, target, jti] = ['htm', 'htu', 'jti'].map((name) => member(jws.claims, name))
  const iat = member(jws.claims, 'iat')
  if (key === undefined || typeof method !== 'string' || typeof target !== 'string') return undefined
  if (typeof jti !== 'string' || !/^[!-~]{8,128}$/.test(jti)) return undefined
  if (typeof iat !== 'number' || !Number.isSafeInteger(iat) || iat < 0) return undefined
  return { parts: jws.parts, key, method, target, jti, issuedAt: seconds(iat) }
}

interface ProofKey {
  readonly object: NonNullable<ReturnType<typeof importJwk>>
  readonly alg: 'ES256' | 'EdDSA'
  readonly jkt: string
}

const KEYS = {
  ES256: { kty: 'EC', crv: 'P-256', members: ['crv', 'kty', 'x', 'y'] },
  EdDSA: { kty: 'OKP', crv: 'Ed25519', members: ['crv', 'kty', 'x'] },
} as const

/** The public key of the header, of the type of its algorithm. A private member in it would be a leaked key. */
function readProofKey(header: JsonObject): ProofKey | undefined {
  const named = DPOP_ALGORITHMS.find((each) => each === member(header, 'alg'))
  const jwk = member(header, 'jwk')
  if (named === undefined || !isJsonObject(jwk) || PRIVATE.some((name) => member(jwk, name) !== undefined))
    return undefined
  const alg = named === 'ES256' ? 'ES256' : 'EdDSA'
  const { kty, crv, members } = KEYS[alg]
  if (member(jwk, 'kty') !== kty || member(jwk, 'crv') !== crv) return undefined
  const texts = members.map((name) => [name, member(jwk, name)] as const)
  if (!texts.every((entry): entry is [(typeof entry)[0], string] => typeof entry[1] === 'string')) return undefined
  const object = importJwk(jwk)
  if (object === undefined) return undefined
  if (alg === 'EdDSA' && readTrustedPublicKey(ed25519Text(object)) === undefined) return undefined
  // The key as the platform writes it: another spelling of its numbers would be another thumbprint.
  const exported = object.export({ format: 'jwk' })
  const own = Object.fromEntries(texts)
  if (members.some((name) => exported[name] !== own[name])) return undefined
  return { object, alg, jkt: thumbprintOf(own) }
}

const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'] as const

/** An address without query and fragment. */
function addressOf(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const { origin, pathname, username, password } = new URL(text)
  return username === '' && password === '' ? `${origin}${pathname}` : undefined
}
