import { LIMITS, boundaryPolicies } from '@chancery/contract'
import { BOUNDARY_POLICY_FORM, type BoundaryPolicy, type JsonObject, type JsonValue, shape } from '@chancery/protocol'
import { json } from '../http/read-response.ts'
import type { CallOptions, Connection, WriteOptions } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import type { RecordOrText } from '../http/record-texts.ts'
import { signedRecord } from '../http/signed-record.ts'
import { type PageQuery, type Paging, paging } from './page.ts'
import { type PolicySimulation, type SimulationRequest, readSimulation } from './policy-simulation.ts'

/** protocol/trust-operations 5.3: why an intent cannot be published. */
export type BoundaryPolicyIssue = {
  readonly code: string
  readonly message: string
  /** Which gate, where one is at fault. */
  readonly gate_id: string | null
}

export type BoundaryPolicyValidation = {
  readonly valid: boolean
  readonly issues: readonly BoundaryPolicyIssue[]
  /** Warnings about a valid policy. */
  readonly warnings: readonly { readonly code: string; readonly message: string }[]
  readonly policy_id: string
  readonly next_version: number
}

/** A stored version. Members of the text are absent if the store no longer has the published text. */
export type BoundaryPolicyRow = {
  readonly policy_id: string
  readonly version: number
  readonly active: boolean
  readonly policy_digest: string
  readonly created_at: string
  readonly activated_at: string | null
  readonly deactivated_at: string | null
  readonly integrity_ok: boolean
  readonly description: string | null
  readonly valid_from: string | null
  readonly valid_until: string | null
  readonly gate_count: number | null
  /** True when no selector narrows it. */
  readonly global: boolean | null
}

export interface BoundaryPolicyPage extends Paging {
  /** By policy, newest version first. */
  readonly policies: readonly BoundaryPolicyRow[]
}

export type BoundaryPolicyVersion = BoundaryPolicyRow & {
  /** Null if the store no longer has the published text. */
  readonly policy: BoundaryPolicy | null
}

export interface BoundaryPolicyHistory extends Paging {
  readonly policy_id: string
  readonly versions: readonly BoundaryPolicyVersion[]
}

export type ActiveBoundaryPolicies = {
  readonly enforcement: string
  /** While false, every evaluation with policies is denied. */
  readonly policy_set_healthy: boolean
  readonly problems: readonly { readonly policy: string; readonly reason: string }[]
  readonly registry_gate_types: readonly string[]
  readonly active: readonly {
    readonly policy_id: string
    readonly version: number
    readonly policy_digest: string
    readonly policy: BoundaryPolicy | null
  }[]
}

export type PolicyActivation = {
  readonly policy_id: string
  readonly version: number
  /** Null when none was active; the same number when nothing changed. */
  readonly previous_version: number | null
  readonly active: boolean
}

export type PolicyText = { readonly text_digest: string; readonly text: string }

/** Compares decisions with a policy in force to current decisions. */
export type BoundaryPolicyVerdict = {
  readonly valid: boolean
  readonly reason: string
  readonly policy_id: string
  readonly version: number
  readonly policy_digest: string
}

export interface BoundaryPoliciesApi {
  /** Returns the issues of an intent; nothing is signed or stored. `texts` of the intent has the texts its gates name. */
  validate(intent: JsonObject, options?: CallOptions): Promise<BoundaryPolicyValidation>
  /** Signs the next version, inactive. After an unknown outcome it is repeated only with an idempotency key. */
  publish(intent: JsonObject, options?: WriteOptions): Promise<BoundaryPolicy>
  /**
   * Beta. Up to 1000 simulated requests, or requests of stored decisions, under the active set and under the set with
   * this policy in force.
   */
  simulate(request: SimulationRequest, options?: CallOptions): Promise<PolicySimulation>
  list(page?: PageQuery, options?: CallOptions): Promise<BoundaryPolicyPage>
  active(options?: CallOptions): Promise<ActiveBoundaryPolicies>
  history(policyId: string, page?: PageQuery, options?: CallOptions): Promise<BoundaryPolicyHistory>
  /** Activate an earlier version to roll back. A repeat changes nothing. */
  activate(policyId: string, version: number, options?: CallOptions): Promise<PolicyActivation>
  deactivate(
    policyId: string,
    version: number,
    options?: CallOptions,
  ): Promise<Omit<PolicyActivation, 'previous_version'>>
  /** Beta. A Cedar policy set or schema that policies name by its digest. */
  text(textDigest: string, options?: CallOptions): Promise<PolicyText>
  /** Keys default to those of the called authority. */
  verify(
    request: {
      readonly policy: RecordOrText<BoundaryPolicy | JsonObject>
      readonly issuer_public_keys?: readonly string[]
    },
    options?: CallOptions,
  ): Promise<BoundaryPolicyVerdict>
}

const word = shape.required(shape.string)
const flag = shape.required(shape.boolean)
const whole = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))
const wordOrNull = shape.withDefault(shape.nullable(shape.string), null)
const wholeOrNull = shape.withDefault(shape.nullable(shape.integer(0, Number.MAX_SAFE_INTEGER)), null)

const readPolicy = signedRecord(BOUNDARY_POLICY_FORM)

const readIssue = shape.open({ code: word, message: word, gate_id: wordOrNull })
const readValidation = shape.open({
  valid: flag,
  issues: shape.required(shape.arrayOf(readIssue, { max: 16_384 })),
  warnings: shape.withDefault(shape.arrayOf(shape.open({ code: word, message: word }), { max: 64 }), []),
  policy_id: word,
  next_version: whole,
})

const row = {
  policy_id: word,
  version: whole,
  active: flag,
  policy_digest: word,
  created_at: word,
  activated_at: wordOrNull,
  deactivated_at: wordOrNull,
  integrity_ok: flag,
  description: wordOrNull,
  valid_from: wordOrNull,
  valid_until: wordOrNull,
  gate_count: wholeOrNull,
  global: shape.withDefault(shape.nullable(shape.boolean), null),
} as const
const policyOrNull = shape.required(shape.nullable((value: JsonValue) => readPolicy(value)))
const rows = { max: LIMITS.listPageRows } as const

const readPage = shape.open({ policies: shape.required(shape.arrayOf(shape.open(row), rows)), ...paging })
const readHistory = shape.open({
  policy_id: word,
  versions: shape.required(shape.arrayOf(shape.open({ ...row, policy: policyOrNull }), rows)),
  ...paging,
})
const readActive = shape.open({
  enforcement: word,
  policy_set_healthy: flag,
  problems: shape.required(shape.arrayOf(shape.open({ policy: word, reason: word }), { max: 100_000 })),
  registry_gate_types: shape.required(shape.arrayOf(shape.string, { max: 1000 })),
  active: shape.required(
    shape.arrayOf(shape.open({ policy_id: word, version: whole, policy_digest: word, policy: policyOrNull }), {
      max: 100_000,
    }),
  ),
})

const done = { policy_id: word, version: whole, active: flag } as const
const readActivation = shape.open({ ...done, previous_version: wholeOrNull })
const readDeactivation = shape.open(done)
const readText = shape.open({ text_digest: word, text: word })
const readVerdict = shape.open({ valid: flag, reason: word, policy_id: word, version: whole, policy_digest: word })

// oxlint-disable-next-line max-lines-per-function -- one entry for each route
export function boundaryPoliciesApi({ call }: Connection): BoundaryPoliciesApi {
  const r = boundaryPolicies
  return {
    validate: (intent, options) =>
      call({ route: r.validate, body: intent, repeatable: true, read: json((v) => readValidation(v, '')), options }),
    publish: (intent, options) =>
      call({
        route: r.publish,
        body: intent,
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: json(readPolicy),
        options,
      }),
    simulate: (request, options) =>
      call({
        route: r.simulate,
        body: omitUndefined({ ...request }),
        repeatable: true,
        read: json((v) => readSimulation(v, '')),
        options,
      }),
    list: (page = {}, options) =>
      call({ route: r.list, query: { ...page }, read: json((v) => readPage(v, '')), options }),
    active: (options) => call({ route: r.active, read: json((v) => readActive(v, '')), options }),
    history: (policyId, page = {}, options) =>
      call({
        route: r.history,
        params: { policy_id: policyId },
        query: { ...page },
        read: json((v) => readHistory(v, '')),
        options,
      }),
    activate: (policyId, version, options) =>
      call({
        route: r.activate,
        params: { policy_id: policyId },
        body: { version },
        repeatable: true,
        read: json((v) => readActivation(v, '')),
        options,
      }),
    deactivate: (policyId, version, options) =>
      call({
        route: r.deactivate,
        params: { policy_id: policyId },
        body: { version },
        read: json((v) => readDeactivation(v, '')),
        options,
      }),
    text: (textDigest, options) =>
      call({ route: r.text, params: { text_digest: textDigest }, read: json((v) => readText(v, '')), options }),
    verify: (request, options) =>
      call({
        route: r.verify,
        body: omitUndefined({ ...request }),
        repeatable: true,
        read: json((v) => readVerdict(v, '')),
        options,
      }),
  }
}
