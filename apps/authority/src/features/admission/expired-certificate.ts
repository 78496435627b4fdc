import {
  HOUR,
  asJson,
  canonicalJson,
  hasOnlyTrustedSignatures,
  instantOf,
  readJoinCertificate,
  readJson,
  readOrUndefined,
  sha256Hex,
} from '@chancery/protocol'
import type { AdmissionRule, Instant, JoinCertificate } from '@chancery/protocol'
import type { Reader } from '../../database/database.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { MAX_EVIDENCE_USES } from './evidence.ts'
import type { Evidence, EvidenceReason, FormerCertificate, Proven } from './evidence.ts'
import { type AdmissionParts, findUsableRule } from './rules.ts'
import { findAdmittingRule, findFormer, findNewest, listExpiredRules } from './queries.ts'

/**
 * Verifies the last certificate of a node as evidence (protocol/admission, section 7). The proof of the node key was
 * verified before. Revocations are checked in the transaction that issues the next certificate.
 */
export async function verifyExpired(
  { clock, database, keys, network }: Pick<AdmissionParts, 'clock' | 'database' | 'keys' | 'network'>,
  rule: AdmissionRule,
  { token, certificate_chain }: Evidence,
  nodeKey: string | undefined,
): Promise<Proven | EvidenceReason> {
  const certificate = readOrUndefined(() => readJoinCertificate(readJson(token)))
  if (certificate === undefined || certificate_chain.length > 0) return 'malformed'
  if (certificate.network_name !== network.name) return 'issuer_mismatch'
  if (!(await hasOnlyTrustedSignatures(certificate, ownKeysAt(keys, certificate.issued_at)))) return 'signature_invalid'
  if (nodeKey !== undefined && certificate.node_public_key !== nodeKey) return 'audience_mismatch'
  const outside = whyOutside(rule, certificate, clock.now())
  if (outside !== undefined) return outside
  const former = await findLast(database.read, rule, certificate)
  if (typeof former === 'string') return former
  return {
    issuer: network.name,
    subject: certificate.cert_id,
    digest: sha256Hex(token),
    evidenceKey: sha256Hex(`expired certificate ${certificate.cert_id}`),
    expiresAt: endOfGrace(rule, certificate),
    issuedAt: undefined,
    maxUses: MAX_EVIDENCE_USES,
    former,
  }
}

function whyOutside(rule: AdmissionRule, certificate: JoinCertificate, now: Instant): EvidenceReason | undefined {
  if (instantOf(certificate.expires_at) > now) return 'certificate_not_expired'
  if (endOfGrace(rule, certificate) <= now) return 'expired'
  return areAdmitted(rule, certificate.roles) ? undefined : 'claims_mismatch'
}

function areAdmitted(rule: AdmissionRule, roles: readonly string[]): boolean {
  return roles.every((role) => rule.roles.includes(role))
}

function endOfGrace({ grace_hours = 0 }: AdmissionRule, { expires_at }: Pick<JoinCertificate, 'expires_at'>): Instant {
  return instantOf(expires_at) + BigInt(grace_hours) * HOUR
}

/**
 * What the next certificate takes over. A restored database does not know what was revoked after its backup, so a
 * certificate without a row admits no node, and neither does another text with the id of a row: a stolen former key can
 * sign that. A node whose response was lost presents an earlier certificate, and an operator may have changed its terms
 * by a new invite: those of the newest certificate count. One that evidence admitted needs that evidence again.
 */
async function findLast(
  db: Reader,
  rule: AdmissionRule,
  certificate: JoinCertificate,
): Promise<FormerCertificate | EvidenceReason> {
  const { cert_id, node_public_key } = certificate
  const text = await findFormer(db, cert_id)
  if (text === undefined || canonicalJson(readJson(text)) !== canonicalJson(asJson(certificate)))
    return 'certificate_unknown'
  const newest = await findNewest(db, node_public_key)
  if (newest === undefined) return 'certificate_unknown'
  for (const id of new Set([cert_id, newest.cert_id]))
    if ((await findAdmittingRule(db, id)) !== undefined) return 'other_rule'
  const { roles_json, max_validity_hours } = newest
  const roles = JSON.parse(roles_json) as string[]
  return areAdmitted(rule, roles) ? { roles, max_validity_hours } : 'claims_mismatch'
}

/** The name of a rule in force that would admit the holder of this expired certificate again. */
export async function findRejoinRule(parts: AdmissionParts, cert_json: string): Promise<string | undefined> {
  const certificate = readOrUndefined(() => readJoinCertificate(readJson(cert_json)))
  if (certificate === undefined) return undefined
  const db = parts.database.read
  for (const rule_id of await listExpiredRules(db)) {
    const rule = (await findUsableRule(parts, rule_id))?.rule
    if (rule === undefined || whyOutside(rule, certificate, parts.clock.now()) !== undefined) continue
    if (typeof (await findLast(db, rule, certificate)) !== 'string') return rule_id
  }
  return undefined
}
