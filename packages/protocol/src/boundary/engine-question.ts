import type { JsonObject, JsonValue } from '../canonical/json-value.ts'
import type { Scalar } from './scalar.ts'

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
