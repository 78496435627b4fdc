import { admission } from '@chancery/contract'
import { field, readAdmissionRule, shape } from '@chancery/protocol'
import type { AdmissionRule, AdmissionTerms, JsonValue } from '@chancery/protocol'
import type { CallOptions, Connection } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import { json, known } from '../http/read-response.ts'

/** What an operator chooses; the rest has defaults. */
export type AdmissionRequest = Pick<AdmissionTerms, 'rule_id' | 'kind' | 'required_claims'> & Partial<AdmissionTerms>

export interface AddedRule {
  readonly rule: AdmissionRule
  /** Which identities the rule admits, in words. */
  readonly admits: string
  readonly warnings: readonly string[]
}

/** A type, not an interface: it is JSON and may be passed on as such. */
export type ListedRule = {
  readonly rule_id: string
  readonly status: string
  readonly joins: number
  readonly created_at: string
  readonly created_by: string
  readonly removed_at: string | null
  readonly removed_by: string | null
  readonly removal_reason: string | null
  readonly admits: string
  readonly warnings: readonly string[]
}

export interface RulePage {
  readonly rules: readonly ListedRule[]
  /** Gives the next page; null on the last one. */
  readonly next_cursor: string | null
}

export interface TestedEvidence {
  /** A secret until it expires. Nothing of it is stored. */
  readonly token: string
  readonly certificate_chain?: readonly string[]
  /** The node key that the audience must name; any when left out. */
  readonly node_public_key?: string
}

/** A type, not an interface: it is JSON and may be passed on as such. */
export type AdmissionVerdict = {
  readonly rule_id: string
  readonly admitted: boolean
  /** Why not; null when it is admitted. */
  readonly reason: string | null
  readonly evidence_issuer: string | null
  readonly evidence_subject: string | null
  readonly evidence_digest: string
}

export interface RemovedRule {
  readonly rule_id: string
  readonly status: string
  /** Certificates that the rule issued and that are still valid; revoke them when they must not be used. */
  readonly valid_certificates: number
  readonly certificates: readonly string[]
  /** There are more than those named. */
  readonly more: boolean
}

export interface AdmissionApi {
  /** As operator. The same rule again gives the stored one. */
  add(request: AdmissionRequest, options?: CallOptions): Promise<AddedRule>
  /** The rules in force first, then the newest. At most 100 in a page. */
  list(query?: { readonly limit?: number; readonly cursor?: string }, options?: CallOptions): Promise<RulePage>
  test(rule_id: string, evidence: TestedEvidence, options?: CallOptions): Promise<AdmissionVerdict>
  /** Ends joins and renewals by the rule. */
  remove(
    rule_id: string,
    request?: { readonly reason?: string; readonly dryRun?: boolean },
    options?: CallOptions,
  ): Promise<RemovedRule>
}

const word = shape.required(shape.string)
const wordOrNull = shape.withDefault<string | null>(shape.nullable(shape.string), null)
const words = shape.required(shape.arrayOf(shape.string, { max: 1000 }))
const count = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))

const described = { admits: word, warnings: words }

const readAdded = known({ rule: shape.required((value: JsonValue) => readAdmissionRule(value)), ...described })

const readListed = known({
  rule_id: word,
  status: word,
  joins: count,
  created_at: shape.required(field.timestamp),
  created_by: word,
  removed_at: wordOrNull,
  removed_by: wordOrNull,
  removal_reason: wordOrNull,
  ...described,
})

const readPage = known({ rules: shape.required(shape.arrayOf(readListed, { max: 1000 })), next_cursor: wordOrNull })

const readVerdict = known({
  rule_id: word,
  admitted: shape.required(shape.boolean),
  reason: wordOrNull,
  evidence_issuer: wordOrNull,
  evidence_subject: wordOrNull,
  evidence_digest: word,
})

const readRemoved = known({
  rule_id: word,
  status: word,
  valid_certificates: count,
  certificates: words,
  more: shape.withDefault(shape.boolean, false),
})

export function admissionApi({ call }: Connection): AdmissionApi {
  return {
    add: (request, options) =>
      call({
        route: admission.add,
        body: omitUndefined({ ...request }),
        repeatable: true,
        read: json((value) => readAdded(value, '')),
        options,
      }),
    list: (query = {}, options) =>
      call({ route: admission.list, query: { ...query }, read: json((value) => readPage(value, '')), options }),
    test: (rule_id, evidence, options) =>
      call({
        route: admission.test,
        params: { rule_id },
        body: omitUndefined({ ...evidence }),
        repeatable: true,
        read: json((value) => readVerdict(value, '')),
        options,
      }),
    remove: (rule_id, { reason, dryRun } = {}, options) =>
      call({
        route: admission.remove,
        params: { rule_id },
        body: omitUndefined({ reason, dry_run: dryRun === true ? true : undefined }),
        repeatable: true,
        read: json((value) => readRemoved(value, '')),
        options,
      }),
  }
}
