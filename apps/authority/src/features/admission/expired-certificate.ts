import {
  HOUR,
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
import type { AdmissionParts } from './parts.ts'
import { findAdmittingRule, findFormer, listExpiredRules } from './queries.ts'
import { findUsableRule } from './rules.ts'

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
  const former = await findLast(database.read, certificate)
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
  return certificate.roles.every((role) => rule.roles.includes(role)) ? undefined : 'claims_mismatch'
}

function endOfGrace({ grace_hours = 0 }: AdmissionRule, { expires_at }: Pick<JoinCertificate, 'expires_at'>): Instant {
  return instantOf(expires_at) + BigInt(grace_hours) * HOUR
}

/**
 * The row of the certificate. A restored database does not know what was revoked after its backup, so a certificate
 * without a row admits no node. One that evidence admitted needs that evidence again.
 */
async function findLast(db: Reader, certificate: JoinCertificate): Promise<FormerCertificate | EvidenceReason> {
  const { cert_id, node_public_key, roles } = certificate
  const row = await findFormer(db, cert_id)
  if (row === undefined || row.node_public_key !== node_public_key) return 'certificate_unknown'
  if ((await findAdmittingRule(db, cert_id)) !== undefined) return 'other_rule'
  return { roles, max_validity_hours: row.max_validity_hours }
}

/** The name of a rule in force that would admit the holder of this expired certificate again. */
export async function findRejoinRule(parts: AdmissionParts, cert_json: string): Promise<string | undefined> {
  const certificate = readOrUndefined(() => readJoinCertificate(readJson(cert_json)))
  if (certificate === undefined) return undefined
  if ((await findAdmittingRule(parts.database.read, certificate.cert_id)) !== undefined) return undefined
  for (const rule_id of await listExpiredRules(parts.database.read)) {
    const usable = await findUsableRule(parts, rule_id)
    if (usable !== undefined && whyOutside(usable.rule, certificate, parts.clock.now()) === undefined) return rule_id
  }
  return undefined
}
