import { type AdmissionRule, sha256Hex } from '@chancery/protocol'
import { type Expected, endOf, findSubject, startOf, whyForeign } from './claims.ts'
import { type Evidence, type EvidenceReason, type EvidenceVerdict, MAX_EVIDENCE_USES, type Proven } from './evidence.ts'
import type { KeySets } from './key-sets.ts'
import { readToken } from './read-token.ts'
import { verifyExpired } from './expired-certificate.ts'
import { type UsableRule, findUsableRule } from './rules.ts'
import type { AdmissionState } from './state.ts'
import { chooseKey, evidenceKeyOf, isSignedBy, readHeader } from './verify-token.ts'
import { verifySvid } from './verify-svid.ts'

/**
 * Verifies evidence by its rule (protocol/admission 5): the rule is ours and in force, then the token. Stores nothing.
 * Every key comes from the rule.
 */
export async function verifyEvidence(
  parts: AdmissionState,
  evidence: Evidence,
  nodeKey: string | undefined,
): Promise<EvidenceVerdict> {
  const usable = await findUsableRule(parts, evidence.rule_id)
  if (usable === undefined) return { ok: false, reason: 'rule_unavailable', digest: sha256Hex(evidence.token) }
  return verifyByRule(parts, usable, evidence, nodeKey)
}

async function verifyByRule(
  parts: AdmissionState,
  { rule, text }: UsableRule,
  evidence: Evidence,
  nodeKey: string | undefined,
): Promise<EvidenceVerdict> {
  const { clock, keys, keySets } = parts
  const expected: Expected = { authorityKeys: keys.audiences, nodeKey, now: clock.now() }
  const proven =
    rule.kind === 'expired_certificate'
      ? await verifyExpired(parts, rule, evidence, nodeKey)
      : rule.kind === 'spiffe_x509'
        ? await verifySvid(keySets, rule, evidence, expected)
        : await verifyJwt(keySets, rule, evidence, expected)
  if (typeof proven === 'string') return { ok: false, reason: proven, digest: sha256Hex(evidence.token) }
  return { ok: true, evidence: { ...proven, rule, ruleText: text } }
}

/** In order: form, algorithm, issuer, audience and time, key, signature, claims. */
async function verifyJwt(
  keySets: KeySets,
  rule: AdmissionRule,
  evidence: Evidence,
  expected: Expected,
): Promise<Proven | EvidenceReason> {
  const token = readToken(evidence.token)
  if (token === undefined || evidence.certificate_chain.length > 0) return 'malformed'
  const header = readHeader(rule, token)
  if (typeof header === 'string') return header
  const foreign = whyForeign(rule, token.claims, expected)
  if (foreign !== undefined) return foreign
  const keys = await keySets.find(rule)
  if (keys === undefined) return 'keys_unavailable'
  const key = chooseKey(rule, keys, header) ?? chooseKey(rule, (await keySets.findAgain(rule)) ?? [], header)
  if (key === undefined) return 'key_unknown'
  if (!(await isSignedBy(key, header.alg, token))) return 'signature_invalid'
  const subject = findSubject(rule, token.claims)
  if (subject === undefined) return 'claims_mismatch'
  const issuer = rule.issuer ?? rule.trust_domain ?? ''
  return {
    issuer,
    subject,
    digest: sha256Hex(token.text),
    evidenceKey: evidenceKeyOf(issuer, token),
    expiresAt: endOf(token.claims),
    issuedAt: startOf(token.claims),
    maxUses: MAX_EVIDENCE_USES,
  }
}
