import {
  hasOnlyTrustedSignatures,
  MAX_CARRIED_CHARACTERS,
  isJsonObject,
  member,
  presentedCertificate,
  readJsonBytes,
  readJwsHeader,
  readOrUndefined,
  signersOf,
  toBase64Url,
  toUtf8,
  verifyJws,
  verifyTreaty,
} from '@chancery/protocol'
import type {
  AuthorityKeys,
  Instant,
  JoinCertificate,
  JsonObject,
  JsonValue,
  RecognitionTreaty,
} from '@chancery/protocol'
import type { CertificateTrust, CertificateVerdict } from '../trust/certificate-verdict.ts'
import { timeOf } from '../trust/signing-time.ts'
import { CERTIFICATE_EXTENSION, carriedBytes, extensionsOf } from './extensions.ts'
import { canonicalCard, cardProblems } from './form.ts'

export type CardRefusal =
  | 'card_malformed'
  | 'card_form'
  | 'certificate_missing'
  | 'certificate_malformed'
  | 'signature_missing'
  | 'signature_invalid'
  | 'network_unknown'
  | 'treaty_invalid'
  | 'treaty_key_mismatch'
  | 'role_not_allowed'
  | 'certificate_untrusted'
  | 'node_key_mismatch'
  | 'role_missing'

export interface RefusedCard {
  readonly valid: false
  readonly reason: CardRefusal
  /** For the log: what was found. */
  readonly problem: string
  readonly decision?: CertificateVerdict
}

/** A card that the key of its certificate signed. Whether the certificate is trusted is another question. */
export interface SignedCard {
  readonly valid: true
  readonly card: JsonObject
  readonly certificate: JoinCertificate
  /** Where the signer says that the revocation list is. The signer chose it: use your own address when you have one. */
  readonly crl: string | undefined
}

/** A partner: the treaty of the own authority, as it is served now, and the partner's list. */
export interface CardPartner {
  readonly treaty: RecognitionTreaty
  /** The status that the authority gives with the treaty: the record itself does not show a revocation. */
  readonly status: string
  readonly trust: CertificateTrust
}

export interface CardTrust {
  /** The keys of the own authority. They decide which network is the own one, and which treaties hold. */
  readonly keys: AuthorityKeys
  /** For certificates of the own network. */
  readonly own: CertificateTrust
  readonly partners?: readonly CardPartner[]
  /** The node key of the agent that you mean. Without it, the card of every trusted member is valid. */
  readonly expectedNodeKey?: string
  /** Roles that the certificate must have, all of them. */
  readonly requiredRoles?: readonly string[]
  readonly now?: Instant
}

export type CardVerdict =
  | (SignedCard & {
      readonly decision: CertificateVerdict
      /** Undefined for a card of the own network. */
      readonly treaty: RecognitionTreaty | undefined
    })
  | RefusedCard

const MAX_BYTES = 262_144
const MAX_SIGNATURES = 16

/**
 * Reads a card as it was fetched, and verifies its signature under the key of the certificate in it. Members that the
 * signature does not cover do not exist: the whole JSON is signed. No other key is used, so `jku` is never read.
 */
export async function readSignedCard(fetched: Uint8Array | string): Promise<SignedCard | RefusedCard> {
  const bytes = typeof fetched === 'string' ? toUtf8(fetched) : fetched
  const whole = bytes.length <= MAX_BYTES ? readOrUndefined(() => readJsonBytes(bytes)) : undefined
  if (!isJsonObject(whole)) return refused('card_malformed', `it is not a JSON object of at most ${MAX_BYTES} bytes`)
  const { signatures, ...card } = whole
  const problems = cardProblems(card)
  if (problems.length > 0) return refused('card_form', problems.join('; '))
  const [extension, second] = extensionsOf(card, CERTIFICATE_EXTENSION)
  if (extension === undefined || second !== undefined)
    return refused('certificate_missing', `it needs exactly one extension ${CERTIFICATE_EXTENSION}`)
  const params = member(extension, 'params')
  const certificate = isJsonObject(params) ? readCertificate(params) : undefined
  if (!isJsonObject(params) || certificate === undefined)
    return refused('certificate_malformed', 'the extension does not hold a certificate of its network')
  const signature = findSignature(signatures, certificate.cert_id)
  if (signature === undefined) return refused('signature_missing', 'no signature has the certificate as its kid')
  const parts = { ...signature, payload: toBase64Url(toUtf8(canonicalCard(card))) }
  if (!(await verifyJws(parts, certificate.node_public_key)))
    return refused('signature_invalid', 'the key of the certificate did not sign this card')
  const crl = member(params, 'crl')
  return { valid: true, card: whole, certificate, crl: typeof crl === 'string' ? crl : undefined }
}

/**
 * Verifies a card: its signature, the certificate by pinned keys and a current list, and for a partner the treaty. Pass
 * the bytes as fetched, never an object of another library. Verify again before each first call: the signature has no
 * time. Name, skills and addresses are statements of the signer: every member can sign any. Give `expectedNodeKey` or
 * `requiredRoles` to accept one agent or some only.
 */
export async function verifyAgentCard(fetched: Uint8Array | string, trust: CardTrust): Promise<CardVerdict> {
  const now = timeOf(trust.now)
  const read = await readSignedCard(fetched)
  if (!read.valid) return read
  const { certificate } = read
  const isOwn = certificate.network_name === trust.keys.genesis.network_name
  const partner = isOwn ? undefined : await findPartner(certificate, trust, now)
  if (partner !== undefined && 'reason' in partner) return partner
  const decision = await (partner?.trust ?? trust.own).evaluate(certificate, now)
  if (!decision.trusted) return { ...refused('certificate_untrusted', decision.reasons.join(', ')), decision }
  return whyOther(certificate, trust) ?? { ...read, decision, treaty: partner?.treaty }
}

/** Why a trusted member is not the expected one. */
function whyOther(
  { node_public_key, roles }: JoinCertificate,
  { expectedNodeKey, requiredRoles = [] }: CardTrust,
): RefusedCard | undefined {
  if (expectedNodeKey !== undefined && node_public_key !== expectedNodeKey)
    return refused('node_key_mismatch', `the node ${node_public_key} signed the card`)
  const missing = requiredRoles.filter((role) => !roles.includes(role))
  return missing.length === 0 ? undefined : refused('role_missing', `the certificate has no ${missing.join(', ')}`)
}

/** The partner whose treaty admits this certificate, or why none does. */
async function findPartner(
  certificate: JoinCertificate,
  { keys, partners = [] }: CardTrust,
  now: Instant,
): Promise<CardPartner | RefusedCard> {
  const { network_name: network, roles } = certificate
  let refusal = refused('network_unknown', `no treaty with ${network} was given`)
  for (const partner of partners) {
    const { treaty } = partner
    if (treaty.subject_sovereign_id !== network) continue
    const verdict = await verifyTreaty(treaty, {
      keys: signersOf(keys, treaty),
      expectedIssuer: keys.genesis.network_name,
      expectedSubject: network,
      isRevoked: partner.status !== 'active',
      now,
    })
    if (!verdict.ok) refusal = refused('treaty_invalid', `treaty ${treaty.treaty_id}: ${verdict.reason}`)
    else if (!(await hasOnlyTrustedSignatures(certificate, treaty.subject_public_keys)))
      refusal = refused(
        'treaty_key_mismatch',
        `not every signature of the certificate is of a key of treaty ${treaty.treaty_id}`,
      )
    else if (roles.length === 0 || !roles.every((role) => treaty.scope.allowed_roles.includes(role)))
      refusal = refused('role_not_allowed', `treaty ${treaty.treaty_id} does not allow every role of the certificate`)
    else return partner
  }
  return refusal
}

function findSignature(
  signatures: JsonValue | undefined,
  keyId: string,
): { readonly protected: string; readonly signature: string } | undefined {
  if (!Array.isArray(signatures) || signatures.length > MAX_SIGNATURES) return undefined
  for (const each of signatures as readonly JsonValue[]) {
    if (!isJsonObject(each)) continue
    const [head, signature] = [member(each, 'protected'), member(each, 'signature')]
    if (typeof head !== 'string' || typeof signature !== 'string') continue
    const header = readJwsHeader(head)
    if (header !== undefined && member(header, 'kid') === keyId) return { protected: head, signature }
  }
  return undefined
}

function readCertificate(params: JsonObject): JoinCertificate | undefined {
  const text = member(params, 'certificate')
  if (typeof text !== 'string' || text.length > MAX_CARRIED_CHARACTERS) return undefined
  const bytes = carriedBytes(params, 'certificate')
  const certificate = bytes && readOrUndefined(() => presentedCertificate(readJsonBytes(bytes), ''))
  return certificate?.network_name === member(params, 'network') ? certificate : undefined
}

function refused(reason: CardRefusal, problem: string): RefusedCard {
  return { valid: false, reason, problem }
}
