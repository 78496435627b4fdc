import { JsonFloat, type JsonObject, type JsonValue, isJsonObject } from '../canonical/utf8.ts'

/** What a list of a selector or a gate may hold, and what may be compared with it (protocol/trust-operations 5.5). */
export type Scalar = null | boolean | string | number | bigint | JsonFloat

export function isScalar(value: JsonValue): value is Scalar {
  return typeof value !== 'object' || value === null || value instanceof JsonFloat
}

/** The exact number a token stands for; undefined when the value is no number. `true` is no number here. */
export function numberOf(value: JsonValue): number | bigint | undefined {
  if (value instanceof JsonFloat) return value.value
  return typeof value === 'number' || typeof value === 'bigint' ? value : undefined
}

/** Below, equal or above. A bigint and a double are compared as they are: neither is rounded to the other's kind. */
export function compareNumbers(a: number | bigint, b: number | bigint): -1 | 0 | 1 {
  if (a < b) return -1
  return a > b ? 1 : 0
}

/**
 * Equality without conversion: 1 equals 1.0, but true is not 1, "1" is not 1 and null equals null only. A converting
 * comparison would let a caller reach a listed value with another type.
 */
export function equalScalars(a: Scalar, b: Scalar): boolean {
  const [left, right] = [numberOf(a), numberOf(b)]
  if (left !== undefined && right !== undefined) return compareNumbers(left, right) === 0
  return left === undefined && right === undefined && a === b
}

export type ValueType = 'missing' | 'null' | 'boolean' | 'number' | 'string' | 'list' | 'object' | 'timestamp' | 'other'

/** The word a proof uses for the kind of a JSON value; never the value. */
export function valueTypeOf(value: JsonValue | undefined): Exclude<ValueType, 'timestamp'> {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (numberOf(value) !== undefined) return 'number'
  if (Array.isArray(value)) return 'list'
  if (isJsonObject(value)) return 'object'
  if (typeof value === 'boolean') return 'boolean'
  return typeof value === 'string' ? 'string' : 'other'
}

/** What a cedar.v1 gate asks. The same question always has the same answer (protocol/trust-operations 5.12). */
export interface CedarQuestion {
  readonly kind: 'cedar'
  /** Of the whole question; answers are found by it. */
  readonly digest: string
  readonly policy_set_digest: string
  readonly schema_digest: string
  readonly entities: readonly JsonValue[]
  /** principal, action, resource and context, in the JSON form of Cedar. */
  readonly request: JsonObject
}

/** What an external_fact.v1 gate asks. The answer may differ from one moment to the next (5.13). */
export interface FactQuestion {
  readonly kind: 'external_fact'
  readonly digest: string
  readonly origin: string
  readonly path: string
  readonly body: JsonObject
  readonly time_limit_ms: number
  /** The revision that the policy expects; undefined when it expects none. */
  readonly revision: string | undefined
  /** Where the response has the members of an {@link ExternalFact}. */
  readonly members: {
    readonly answer: readonly string[]
    readonly revision: readonly string[] | undefined
    readonly as_of: readonly string[] | undefined
  }
}

export type EngineQuestion = CedarQuestion | FactQuestion

/** Why there is no answer. Every one of them denies. */
export const ENGINE_FAILURES = [
  'not_asked',
  'engine_unavailable',
  'text_unavailable',
  'time_limit',
  'overloaded',
  'request_refused',
  'origin_not_allowed',
  'unreachable',
  'response_refused',
] as const
export type EngineFailure = (typeof ENGINE_FAILURES)[number]

export interface NoAnswer {
  readonly kind: 'none'
  readonly failure: EngineFailure
  /** Version of the engine that refused the request; undefined where none was reached. */
  readonly engine_version?: string
}

export interface CedarAnswer {
  readonly kind: 'cedar'
  readonly engine_version: string
  readonly decision: 'allow' | 'deny'
  /** Names of the policies that determined the decision, sorted. */
  readonly reason: readonly string[]
  /** Names of the policies that could not be evaluated, sorted. */
  readonly errors: readonly string[]
}

/** The part of a response that a gate uses, and that the proof contains. */
export interface ExternalFact {
  readonly kind: 'external_fact'
  /** Undefined when the response does not have it. */
  readonly answer: Scalar | undefined
  readonly revision: string | undefined
  readonly as_of: string | undefined
  readonly observed_at: string
}

export type EngineAnswer = CedarAnswer | ExternalFact | NoAnswer

/** Answers by the digest of their question. */
export type EngineAnswers = ReadonlyMap<string, EngineAnswer>

/** A question and the gate that asks it. */
export interface AskedQuestion {
  /** `policy_id/gate_id` */
  readonly gate_name: string
  readonly question: EngineQuestion
}

/** The version of Cedar that this release installs. */
export const CEDAR_PACKAGE = '@cedar-policy/cedar-wasm@4.13.0'
/** Bytes of one policy set or schema. */
export const MAX_POLICY_TEXT_BYTES = 65_536
/** Texts sent with one policy. */
export const MAX_POLICY_TEXTS = 16
