import {
  JsonError,
  instantOf,
  isJsonObject,
  isRoleAllowed,
  readAdmissionRule,
  readJson,
  readOrUndefined,
  verifyList,
  writeJson,
} from '@chancery/protocol'
import type { AdmissionRule, Instant, JsonObject } from '@chancery/protocol'
import { isRemovedInAudit } from '../../audit/removed-rules.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import type { AdmissionParts } from './parts.ts'
import { type RuleRow, findRule } from './queries.ts'

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
