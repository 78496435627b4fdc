import { SECOND, keysUrlOf, member, readSpiffeId, sha256Hex } from '@chancery/protocol'
import type { AdmissionRule, Instant, JsonObject } from '@chancery/protocol'
import { type Certificate, KEY_USAGE, readCertificate } from './certificate.ts'
import { type Expected, endOf, startOf, whyForeign } from './claims.ts'
import { type Evidence, type EvidenceReason, MAX_EVIDENCE_USES, type Proven, readToken } from './evidence.ts'
import type { KeySets } from './key-sets.ts'
import { leadsTo } from './verify-path.ts'
import { isSignedBy, readHeader } from './verify-token.ts'

/** So that no other JWS of the same key is taken for a proof. */
export const SVID_PROOF_TYPE = 'chancery-svid-proof+jwt'
const MAX_PROOF_SECONDS = 600n
const MAX_LEAF_DAYS = 7n

/**
 * Verifies an X.509-SVID: a proof by its key, bound to the node key, and a path to the bundle of the trust domain of
 * the rule.
 */
export async function verifySvid(
  keySets: KeySets,
  rule: AdmissionRule,
  evidence: Evidence,
  expected: Expected,
): Promise<Proven | EvidenceReason> {
  const token = readToken(evidence.token)
  if (token === undefined || evidence.certificate_chain.length === 0) return 'malformed'
  const header = readHeader(rule, token)
  if (typeof header === 'string') return header
  if (member(token.header, 'typ') !== SVID_PROOF_TYPE) return 'malformed'
  const foreign = whyForeign(rule, token.claims, expected)
  if (foreign !== undefined) return foreign
  if (endOf(token.claims) > expected.now + MAX_PROOF_SECONDS * SECOND) return 'lifetime_too_long'
  const chain = readChain(evidence.certificate_chain)
  const [leaf] = chain ?? []
  const subject = leaf === undefined ? undefined : subjectOf(leaf)
  if (chain === undefined || leaf === undefined || subject === undefined) return 'certificate_invalid'
  if (readSpiffeId(subject)?.trustDomain !== rule.trust_domain) return 'issuer_mismatch'
  const leafEnd = BigInt(leaf.x509.validToDate.getTime()) * (SECOND / 1000n)
  if (leafEnd <= expected.now) return 'expired'
  if (leafEnd > expected.now + MAX_LEAF_DAYS * 86_400n * SECOND) return 'lifetime_too_long'
  const untrusted = await whyUntrusted(keySets, rule, chain, expected.now)
  if (untrusted !== undefined) return untrusted
  if (!(await isSignedBy(leaf.x509.publicKey, header.alg, token))) return 'signature_invalid'
  if (rule.required_claims['sub']?.includes(subject) !== true) return 'claims_mismatch'
  const proofEnd = endOf(token.claims)
  return {
    issuer: rule.trust_domain ?? '',
    subject,
    digest: sha256Hex(leaf.x509.raw),
    // The proof, not the leaf: a node that lost its key joins again with the same leaf.
    evidenceKey: sha256Hex(`x509\n${sha256Hex(token.signingInput)}`),
    expiresAt: proofEnd < leafEnd ? proofEnd : leafEnd,
    issuedAt: startOf(token.claims),
    maxUses: MAX_EVIDENCE_USES,
  }
}

function readChain(texts: readonly string[]): readonly Certificate[] | undefined {
  const chain = texts.map((text) => {
    const der = Buffer.from(text, 'base64')
    return der.toString('base64') === text ? readCertificate(der) : undefined
  })
  return chain.every((certificate) => certificate !== undefined) ? chain : undefined
}

/** The SPIFFE ID of a leaf that has the form of an X.509-SVID. */
function subjectOf({ isAuthority, keyUsage, uriNames }: Certificate): string | undefined {
  const [only] = uriNames
  if (only === undefined || uriNames.length !== 1 || isAuthority) return undefined
  if (keyUsage === undefined || !keyUsage.isCritical) return undefined
  const mustNot = KEY_USAGE.keyCertSign | KEY_USAGE.crlSign
  if ((keyUsage.bits & KEY_USAGE.digitalSignature) === 0 || (keyUsage.bits & mustNot) !== 0) return undefined
  return readSpiffeId(only) === undefined ? undefined : only
}

/** A root that is not in the bundle may be new, so the bundle is read again when that is due. */
async function whyUntrusted(
  keySets: KeySets,
  rule: AdmissionRule,
  chain: readonly Certificate[],
  now: Instant,
): Promise<EvidenceReason | undefined> {
  const keys = await keySets.find(rule)
  if (keys === undefined) return 'keys_unavailable'
  if (leadsTo(rootsOf(keys), chain, now)) return undefined
  if (keysUrlOf(rule) === null) return 'certificate_untrusted'
  const again = (await keySets.findAgain(rule)) ?? []
  return again !== keys && leadsTo(rootsOf(again), chain, now) ? undefined : 'certificate_untrusted'
}

/** By the keys as they were read: a list of the cache is read as certificates once. */
const ROOTS = new WeakMap<readonly JsonObject[], readonly Certificate[]>()

function rootsOf(keys: readonly JsonObject[]): readonly Certificate[] {
  const known = ROOTS.get(keys)
  if (known !== undefined) return known
  const roots = readRoots(keys)
  ROOTS.set(keys, roots)
  return roots
}

/** Exactly one certificate for each entry; others are left out. */
function readRoots(keys: readonly JsonObject[]): readonly Certificate[] {
  return keys.flatMap((key) => {
    const chain = member(key, 'x5c')
    const only = Array.isArray(chain) && chain.length === 1 ? (chain[0] as unknown) : undefined
    if (member(key, 'use') !== 'x509-svid' || typeof only !== 'string') return []
    return readCertificate(Buffer.from(only, 'base64')) ?? []
  })
}
