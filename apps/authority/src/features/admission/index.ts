import { Refusal, admission } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { whenClockIsCorrect } from '../../clock/purge-clock.ts'
import type { Feature } from '../../core.ts'
import type { Transaction } from '../../database/database.ts'
import { add, readTestRequest } from './add.ts'
import { claimEvidence, findUsableRule, readStoredRule, removeEnded } from './rules.ts'
import type { AdmissionParts, Admitted, UsableRule } from './rules.ts'
import { MAX_EVIDENCE_USES, readToken } from './evidence.ts'
import type { Evidence, EvidenceReason, EvidenceVerdict, Proven, VerifiedEvidence } from './evidence.ts'
import { findRejoinRule, verifyExpired } from './expired-certificate.ts'
import { KeySets } from './key-sets.ts'
import { forRevocations } from '../../database/room/for-revocations.ts'
import { remove, removeRulesOf } from './remove.ts'
import { type AdmissionRule, type JsonObject, describeAdmission, sha256Hex } from '@chancery/protocol'
import { type RuleRow, findRule, ruleList } from './queries.ts'
import { readPage, readRows, writeCursor } from '../../requests/paging.ts'
import { type Expected, endOf, findSubject, startOf, whyForeign } from './claims.ts'
import { chooseKey, evidenceKeyOf, isSignedBy, readHeader } from './verify-token.ts'
import { verifySvid } from './verify-svid.ts'

export { EvidenceRefusedError } from './rules.ts'
export { evidenceDetails, readEvidence } from './evidence.ts'
export type { Evidence, EvidenceReason, EvidenceVerdict, VerifiedEvidence } from './evidence.ts'
export { endRules } from './rules.ts'
export { readPossibleRules } from './rules.ts'
export {
  countActiveRules,
  findAdmittingRule,
  findNewest,
  findRenewableRule,
  insertAdmitted,
  listRulesOf,
  ruleList,
} from './queries.ts'
export { isInForce, readSigned } from './rules.ts'

/**
 * A rule as operators see it, without its pinned keys: up to 64 KiB for each rule. The signature of a removed rule is
 * not stored.
 */
function showRule(row: RuleRow): JsonObject {
  const rule = readStoredRule(row.rule_json)
  return {
    rule_id: row.rule_id,
    status: row.status,
    joins: row.joins,
    created_at: row.created_at,
    created_by: row.created_by,
    removed_at: row.removed_at,
    removed_by: row.removed_by,
    removal_reason: row.removal_reason,
    rule: rule === undefined ? null : withoutKeys(rule),
    ...(rule === undefined
      ? { admits: 'no node: the stored rule cannot be read', warnings: [] }
      : { ...describeAdmission(rule) }),
  }
}

function withoutKeys({ keys: _left, ...rule }: AdmissionRule): JsonObject {
  return { ...rule }
}

/** Fewer rows than in other lists: each may have pinned keys of 64 KiB, which are read and not shown. */
const MAX_LISTED = 100

/**
 * GET /admin/admission-rules
 * Lists the rules, those in force first, in pages of at most 100.
 */
async function list(call: OperatorCall, parts: AdmissionParts): Promise<JsonObject> {
  const page = readPage(call.query)
  const limit = Math.min(page.limit, MAX_LISTED)
  const { rows, last } = await readRows(ruleList(parts.database.read), { limit, after: page.after })
  return {
    count: rows.length,
    rules: rows.map(showRule),
    next_cursor: last === undefined ? null : writeCursor(last),
  }
}

interface AdmissionState extends AdmissionParts {
  readonly keySets: KeySets
}

/**
 * Verifies evidence by its rule (protocol/admission 5): the rule is ours and in force, then the token. Stores nothing.
 * Every key comes from the rule.
 */
async function verifyEvidence(
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

/**
 * POST /admin/admission-rules/{rule_id}/test
 * Says whether a rule would admit a token. Nothing is stored, so the token can still be used.
 */
async function test(call: OperatorCall, parts: AdmissionState): Promise<JsonObject> {
  const rule_id = call.params['rule_id'] ?? ''
  const { evidence, node_public_key } = readTestRequest(call.body, rule_id)
  if ((await findRule(parts.database.read, rule_id)) === undefined) throw new Refusal('admission_rule_not_found')
  const verdict = await verifyEvidence(parts, evidence, node_public_key)
  if (!verdict.ok) return { rule_id, admitted: false, reason: verdict.reason, evidence_digest: verdict.digest }
  const { issuer, subject, digest, rule } = verdict.evidence
  return {
    rule_id,
    admitted: true,
    evidence_issuer: issuer,
    evidence_subject: subject,
    evidence_digest: digest,
    roles: rule.roles,
    max_validity_hours: rule.max_validity_hours,
  }
}

export interface Admission extends Feature {
  /** Verifies evidence of a node key whose proof was verified. Stores nothing. */
  verifyEvidence(evidence: Evidence, node_public_key: string): Promise<EvidenceVerdict>
  /** Spends it in the transaction that issues the certificate, or throws EvidenceRefusedError. */
  claimEvidence(
    tx: Transaction,
    evidence: VerifiedEvidence,
    admitted: Admitted & { readonly isRenewal: boolean },
  ): Promise<void>
  /** The rule by which the holder of this expired certificate may join again. */
  findRejoinRule(cert_json: string): Promise<string | undefined>
  /** Removes the rules that an operator key added. Returns their number. */
  removeRulesOf(
    tx: Transaction,
    created_by: string,
    removal: { readonly call: OperatorCall; readonly reason: string },
  ): Promise<number>
}

export function openAdmission(parts: AdmissionParts): Admission {
  const keySets = new KeySets(parts)
  const state: AdmissionState = { ...parts, keySets }
  return {
    routes: [
      bind(admission.add, (call) => add(call, parts)),
      bind(admission.list, (call) => list(call, parts)),
      bind(admission.test, (call) => test(call, state)),
      bind(admission.remove, (call) => remove(call, forRevocations(parts))),
    ],
    jobs: [
      {
        name: 'evidence-removal',
        everySeconds: 600,
        run: whenClockIsCorrect(parts.clockCheck, (signal) => removeEnded(parts, signal)),
      },
    ],
    verifyEvidence: (evidence, node_public_key) => verifyEvidence(state, evidence, node_public_key),
    claimEvidence: (tx, evidence, admitted) => claimEvidence(tx, parts, evidence, admitted),
    findRejoinRule: (cert_json) => findRejoinRule(parts, cert_json),
    removeRulesOf: (tx, created_by, removal) => removeRulesOf(tx, parts, created_by, removal),
    close: () => Promise.resolve(keySets.close()),
  }
}
