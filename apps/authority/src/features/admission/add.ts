import { Refusal, admission } from '@chancery/contract'
import {
  FormError,
  canonicalJson,
  describeAdmission,
  draftAdmissionRule,
  isRoleAllowed,
  sha256Hex,
  writeInstant,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { AdmissionRule, AdmissionTerms, JsonObject } from '@chancery/protocol'
import { type HttpResponse, jsonText } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { transactWithKey } from '../../auth/outlived-key.ts'
import { type AdmissionParts, readSigned } from './rules.ts'
import { countActiveRules, findRule, insertRule } from './queries.ts'
import { isPublicKeyText, refuseUnknownMembers, shorten } from '../../requests/read-fields.ts'
import { type Evidence, readEvidence } from './evidence.ts'

function readAddRequest(body: JsonObject, allowedRoles: readonly string[]): AdmissionTerms {
  refuseUnknownMembers(body, admission.add.body.names)
  const terms = readTerms(body)
  if (!terms.roles.every((role) => isRoleAllowed(role, allowedRoles))) throw new Refusal('invalid_role')
  return terms
}

function readTerms(body: JsonObject): AdmissionTerms {
  try {
    return admission.add.body.read(body, '')
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    const details = { field: shorten(error.field), problem: shorten(error.problem) }
    throw new Refusal('invalid_admission_rule', details, { cause: error })
  }
}

export interface TestRequest {
  readonly evidence: Evidence
  readonly node_public_key: string | undefined
}

export function readTestRequest(body: JsonObject, rule_id: string): TestRequest {
  refuseUnknownMembers(body, ['token', 'certificate_chain', 'node_public_key'])
  const { node_public_key, ...given } = body
  if (node_public_key !== undefined && !isPublicKeyText(node_public_key)) throw new Refusal('invalid_public_key')
  return { evidence: readEvidence({ ...given, rule_id }), node_public_key }
}

/** Each may be read from an address, and all are shown in one response. */
export const MAX_RULES = 256

/**
 * POST /admin/admission-rules
 * Signs a rule. It never changes afterwards: the same id with the same terms responds with the stored rule, with others
 * it is a conflict, also after the rule was removed.
 */
export async function add(call: OperatorCall, parts: AdmissionParts): Promise<HttpResponse> {
  const terms = readAddRequest(call.body, parts.settings.allowedRoles)
  parts.signing.requireAllowed()
  return transactWithKey(call, parts, async (tx) => {
    const stored = await findRule(tx.query, terms.rule_id)
    if (stored !== undefined) {
      const rule = stored.status === 'active' ? await readSigned(parts, stored) : undefined
      if (rule === undefined || !isSame(rule, terms)) throw new Refusal('conflict', { rule_id: terms.rule_id })
      return respond(rule, 200)
    }
    if ((await countActiveRules(tx.query)) >= MAX_RULES) throw new Refusal('conflict', { max_rules: MAX_RULES })
    const now = parts.clock.now()
    const facts = {
      network_name: parts.network.name,
      created_by: call.operator.key_id,
      issued_at: writeInstant(now),
      issued_by: parts.signing.keyId,
    }
    const rule: AdmissionRule = await parts.signing.sign(draftAdmissionRule(terms, facts))
    const isNew = await insertRule(tx, {
      rule_id: terms.rule_id,
      rule_json: writeJson(rule),
      status: 'active',
      joins: 0,
      created_at: writeSortable(now),
      created_by: call.operator.key_id,
      removed_at: null,
      removed_by: null,
      removal_reason: null,
    })
    if (!isNew) throw new Refusal('conflict', { rule_id: terms.rule_id })
    await tx.raiseVersion('admission')
    const details = {
      rule_id: terms.rule_id,
      kind: terms.kind,
      evidence_issuer: terms.issuer ?? terms.trust_domain,
      roles: terms.roles,
      rule_digest: sha256Hex(canonicalJson(termsOf(rule))),
    }
    await parts.audit.record(tx, { type: 'admission_rule_added', details: { ...details, ...requestDetails(call) } })
    return respond(rule, 201)
  })
}

function respond(rule: AdmissionRule, status: 200 | 201): HttpResponse {
  return jsonText(writeJson({ rule, ...describeAdmission(rule) }), status)
}

/** The terms decide. Who signed them and when is not compared. */
function isSame(rule: AdmissionRule, terms: AdmissionTerms): boolean {
  return canonicalJson(termsOf(rule)) === canonicalJson({ ...terms })
}

function termsOf(rule: AdmissionRule): JsonObject {
  const { network_name: _network, created_by: _maker, issued_at: _at, issued_by: _by, signatures: _s, ...terms } = rule
  return terms
}
