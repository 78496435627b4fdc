import {
  DAY,
  HOUR,
  JsonError,
  MAX_GRACE_HOURS,
  instantOf,
  isJsonObject,
  isRoleAllowed,
  readAdmissionRule,
  readJson,
  readOrUndefined,
  verifyList,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { AdmissionRule, Instant, JoinCertificate, JsonObject } from '@chancery/protocol'
import { isRemovedInAudit } from '../../audit/removed-rules.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import {
  countJoin,
  findRule,
  insertAdmitted,
  listActiveRules,
  listStoredTexts,
  lockRule,
  markRemoved,
  removeEndedRows,
  useEvidence,
} from './queries.ts'
import type { RuleRow } from './queries.ts'
import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import type { EvidenceReason, VerifiedEvidence } from './evidence.ts'

export interface AdmissionParts extends FeatureBase, Pick<Core, 'clockCheck' | 'limits' | 'operators' | 'purgeClock'> {
  readonly settings: Pick<AuthoritySettings, 'admissionAddresses' | 'admissionRoots' | 'allowedRoles'>
}

/** A rule in force with the text that was verified. */
export interface UsableRule {
  readonly rule: AdmissionRule
  readonly text: string
}

/**
 * The rule, when it is in force. The signature is verified each time, and the audit log is asked for a removal: a row that
 * was edited or put back admits no node.
 */
export async function findUsableRule(
  parts: Pick<AdmissionParts, 'clock' | 'database' | 'keys' | 'log' | 'network' | 'settings'>,
  rule_id: string,
): Promise<UsableRule | undefined> {
  const row = await findRule(parts.database.read, rule_id)
  if (row === undefined || row.status !== 'active') return undefined
  const rule = await readSigned(parts, row)
  if (rule === undefined || !isInForce(rule, parts.clock.now())) return undefined
  // The setting may have changed since the rule was added.
  if (!rule.roles.every((role) => isRoleAllowed(role, parts.settings.allowedRoles))) return undefined
  if (!(await isRemovedInAudit(parts.database, rule_id))) return { rule, text: row.rule_json }
  parts.log.error('a removed admission rule is stored as active', { alarm: true, rule_id })
  return undefined
}

/** The rule of a row that we signed, for this network; undefined with an alarm otherwise. */
export async function readSigned(
  { keys, log, network }: Pick<AdmissionParts, 'keys' | 'log' | 'network'>,
  row: Pick<RuleRow, 'rule_id' | 'rule_json'>,
): Promise<AdmissionRule | undefined> {
  const rule = readStoredRule(row.rule_json)
  const isOurs = rule?.rule_id === row.rule_id && rule.network_name === network.name
  if (isOurs && (await verifyList(rule, ownKeysAt(keys, rule.issued_at)))) return rule
  log.error('a stored admission rule does not verify', { alarm: true, rule_id: row.rule_id })
  return undefined
}

/** Without a start it is in force from the moment it was signed. */
export function isInForce({ valid_from, expires_at }: AdmissionRule, now: Instant): boolean {
  if (valid_from !== null && now < instantOf(valid_from)) return false
  return expires_at === null || now < instantOf(expires_at)
}

/** A row whose status is edited back has no signature and admits no node. A text that cannot be read admits none, too. */
export function withoutSignature(text: string): string {
  const rule = parseObject(text)
  return rule === undefined ? '{}' : writeJson({ ...rule, signatures: [] })
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value = readJson(text)
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/** The terms of a stored rule, also of a removed one. They are not verified. */
export function readStoredRule(text: string): AdmissionRule | undefined {
  return readOrUndefined(() => readAdmissionRule(readJson(text)))
}

/**
 * Removes used evidence an hour after its end, which is more than clocks may differ. Which certificates came from
 * evidence is stored for the longest grace of a rule and a day: they never come back as expired certificates. Uses the
 * purge clock, so a clock that is ahead removes nothing early.
 */
export async function removeEnded(
  parts: Pick<AdmissionParts, 'database' | 'purgeClock'>,
  signal: AbortSignal,
): Promise<void> {
  const now = parts.purgeClock.daily.now()
  const before = {
    evidence: writeSortable(now - HOUR),
    certificates: writeSortable(now - BigInt(MAX_GRACE_HOURS) * HOUR - DAY),
  }
  while (!signal.aborted && (await removeEndedRows(parts.database, before)));
}

export type PossibleRule = (certificate: Pick<JoinCertificate, 'roles'>, hours: number) => string | undefined

/**
 * Finds a stored rule that can have admitted a certificate, also a removed one: the same roles, and not more hours. For
 * certificates whose event is lost: in doubt they need evidence.
 */
export async function readPossibleRules(db: Reader): Promise<PossibleRule> {
  // Certificates of a node that joined again are renewed without evidence.
  const rules = (await listStoredTexts(db))
    .map(readStoredRule)
    .filter((rule) => rule !== undefined)
    .filter(({ kind }) => kind !== 'expired_certificate')
  const namesOf = (roles: readonly string[]): string => [...new Set(roles)].sort().join(' ')
  return ({ roles }, hours) =>
    rules.find((rule) => hours <= rule.max_validity_hours && namesOf(rule.roles) === namesOf(roles))?.rule_id
}

/**
 * Ends every rule of a restored database. Some may have been removed after the backup, and the joins and evidence that
 * were used since are unknown. Returns their ids. The version stays: it shows what the backup lacks.
 */
export async function endRules(tx: Transaction, now: Instant, removal_reason: string): Promise<readonly string[]> {
  const rules = await listActiveRules(tx.query)
  for (const { rule_id, rule_json } of rules)
    await markRemoved(tx, rule_id, {
      removed_at: writeSortable(now),
      removed_by: null,
      removal_reason,
      rule_json: withoutSignature(rule_json),
    })
  return rules.map(({ rule_id }) => rule_id)
}

/** Evidence was verified and is refused by what is stored. Thrown, so that the transaction leaves nothing behind. */
export class EvidenceRefusedError extends Error {
  override readonly name = 'EvidenceRefusedError'
  readonly reason: EvidenceReason

  constructor(reason: EvidenceReason) {
    super(reason)
    this.reason = reason
  }
}

export interface Admitted {
  readonly cert_id: string
  readonly node_public_key: string
  readonly expires_at: string
}

/**
 * Spends evidence in the transaction that issues the certificate. The rule must still be the verified one and in force,
 * a join must be left, and the evidence must be new or of the same node key.
 */
export async function claimEvidence(
  tx: Transaction,
  parts: Pick<AdmissionParts, 'clock' | 'database'>,
  { rule, ruleText, evidenceKey, expiresAt, maxUses, former }: VerifiedEvidence,
  admitted: Admitted & { readonly isRenewal: boolean },
): Promise<void> {
  const locked = await lockRule(parts.database, tx, rule.rule_id, ruleText)
  const now = parts.clock.now()
  if (locked === undefined || !isInForce(rule, now)) throw new EvidenceRefusedError('rule_unavailable')
  // The key set or the lock may have taken a while.
  if (expiresAt <= now) throw new EvidenceRefusedError('expired')
  const { cert_id, node_public_key, expires_at, isRenewal } = admitted
  const used = await useEvidence(tx, evidenceKey, node_public_key, expiresAt)
  if (used.node_public_key !== node_public_key || used.uses > maxUses) throw new EvidenceRefusedError('evidence_used')
  if (!isRenewal) {
    if (rule.max_joins !== null && locked.joins >= rule.max_joins) throw new EvidenceRefusedError('joins_exhausted')
    await countJoin(tx, rule.rule_id, locked.joins + 1)
  }
  // The next certificate of a node from an invite is renewed without evidence, as its former one was.
  if (former === undefined) await insertAdmitted(tx, { cert_id, rule_id: rule.rule_id, expires_at })
  // Last, as in a removal. Without it a restored backup that lacks only joins or used evidence would not be detected.
  await tx.raiseVersion('admission')
}
