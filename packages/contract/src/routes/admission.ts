import { ADMISSION_TERMS, type AdmissionTerms, readAdmissionRule, readAdmissionTerms, shape } from '@chancery/protocol'
import { type AnswerOf, type BodyForm, type PreviewOf, type SentOf, body } from '../form.ts'
import { count, cursorQuery, flag, isDryRun, listOf, record, text, textOrNull, texts, whole } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { arrayOf, open, optional, required, withDefault } = shape

/** Which identities the rule admits, in words. */
const described = { admits: text, warnings: texts }

const left = {
  /** Certificates that the rule issued and that are still valid; revoke them when they must not be used. */
  valid_certificates: whole,
  certificates: texts,
  /** There are more than those named. */
  more: withDefault(shape.boolean, false),
}

const addBody: BodyForm<AdmissionTerms, AdmissionRequest> = {
  names: ADMISSION_TERMS,
  read: readAdmissionTerms,
  code: 'invalid_admission_rule',
  example: {
    rule_id: 'ci',
    kind: 'oidc',
    platform: 'github',
    issuer: 'https://token.actions.githubusercontent.com',
    jwks_url: 'https://token.actions.githubusercontent.com/.well-known/jwks',
    required_claims: { repository_id: ['456789'], repository_owner_id: ['123456'], environment: ['production'] },
    roles: ['role:client'],
    max_validity_hours: 2,
  },
}

const facts = {
  add: {
    id: 'POST /admin/admission-rules',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'beta',
    success: 201,
    response: 'json',
    summary: 'Add an admission rule',
    purpose: 'Signs which identities of another platform may join without an invite.',
    errors: ['conflict', 'invalid_admission_rule', 'invalid_role'],
    body: addBody,
    answer: open({ rule: required(record('admission-rule', readAdmissionRule)), ...described }),
    /** The same rule again gives the stored one. */
    idempotent: true,
  },
  list: {
    id: 'GET /admin/admission-rules',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Admission rules',
    purpose: 'Lists the rules with what they admit, their joins, and who added or removed them.',
    errors: ['invalid_page', 'unexpected_field'],
    query: cursorQuery,
    /** The rules in force first, then the newest. At most 100 in a page. */
    answer: open({
      count: whole,
      rules: listOf(
        open({
          rule_id: text,
          status: text,
          joins: whole,
          created_at: text,
          created_by: text,
          removed_at: textOrNull,
          removed_by: textOrNull,
          removal_reason: textOrNull,
          /** Without its pinned keys. Null: it cannot be read. */
          rule: withDefault(shape.nullable(shape.object), null),
          ...described,
        }),
      ),
      /** Gives the next page; null on the last one. */
      next_cursor: textOrNull,
    }),
  },
  test: {
    id: 'POST /admin/admission-rules/{rule_id}/test',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Test an admission rule',
    purpose: 'Says whether a rule would admit a token, and why not; nothing is stored.',
    errors: ['admission_rule_not_found', 'invalid_input', 'invalid_public_key'],
    bodyLimit: 'small',
    deadlineSeconds: 20,
    body: body(
      'invalid_input',
      {
        /** A secret until it expires. Nothing of it is stored. */
        token: text,
        /** The node key that the audience must name; any when left out. */
        node_public_key: optional(shape.string),
        certificate_chain: optional(arrayOf(shape.string, { max: 16 })),
      },
      { token: '<token of the platform>' },
    ),
    answer: open({
      rule_id: text,
      admitted: flag,
      /** Why not; null when it is admitted. */
      reason: textOrNull,
      evidence_issuer: textOrNull,
      evidence_subject: textOrNull,
      evidence_digest: text,
      /** What a node would get. */
      roles: optional(arrayOf(shape.string, { max: 64 })),
      max_validity_hours: optional(count),
    }),
    idempotent: true,
  },
  remove: {
    id: 'POST /admin/admission-rules/{rule_id}/remove',
    access: 'operator:privileged',
    dryRun: 'operator:standard',
    limit: 'admin',
    reserve: 'revocation',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Remove an admission rule',
    purpose: 'Ends a rule for good: no join and no renewal by it, from the next request on.',
    errors: ['admission_rule_not_found', 'invalid_input'],
    body: body(
      'invalid_input',
      { reason: optional(shape.string), dry_run: optional(shape.boolean) },
      { reason: 'issuer compromised' },
    ),
    answer: open({ rule_id: text, status: text, ...left }),
    preview: open({ dry_run: isDryRun, rule_id: text, status: text, would_change: flag, joins: whole, ...left }),
    idempotent: true,
  },
} as const

/** Rules by which platform identities join (protocol/admission). */
export const admission: Routes<typeof facts> = routes(facts)

/** What an operator chooses; the rest has defaults. */
export type AdmissionRequest = Pick<AdmissionTerms, 'rule_id' | 'kind' | 'required_claims'> & Partial<AdmissionTerms>
export type AddedRule = AnswerOf<typeof admission.add>
export type RulePage = AnswerOf<typeof admission.list>
export type ListedRule = RulePage['rules'][number]
export type TestedEvidence = SentOf<typeof admission.test>
export type AdmissionVerdict = AnswerOf<typeof admission.test>
export type RemovedRule = AnswerOf<typeof admission.remove>
export type RemovedRulePreview = PreviewOf<typeof admission.remove>
