import type { JsonObject, JsonValue } from '../../canonical/utf8.ts'
import type { ApprovalRule } from '../../approvals/rule.ts'
import type { Budget } from '../../budgets/limits.ts'
import { FormError, type Read, described } from '../../reading/schema.ts'
import { readRecord } from '../../reading/shape.ts'
import { type EngineQuestion, type Scalar, type ValueType, isScalar } from '../engine-question.ts'
import { type Fact, type FactPath, type Facts, findFact, readFactPath } from '../facts.ts'

export const GATE_OUTCOMES = [
  'pass',
  'fail',
  'missing_context',
  'invalid_context',
  'gate_error',
  /** A person is asked. Only a gate that runs last has the two below (protocol/budgets-and-approvals 4). */
  'pending',
  'not_reached',
] as const
export type GateOutcome = (typeof GATE_OUTCOMES)[number]

/** What a gate found: the outcome, and what a proof may show of how it came about. */
export interface GateReading {
  readonly outcome: GateOutcome
  /** For people. Holds the rule and never a fact value (protocol/trust-operations 5.7). */
  readonly text: string
  readonly path: string
  readonly type: ValueType
  readonly value: JsonValue | undefined
  /** The rule in a form machines read. */
  readonly condition: JsonObject
  /** The value may be shown whatever `disclose_input` says. */
  readonly isPublic?: true
  /** In place of path, type and condition, for a gate that asks another system. */
  readonly inputs?: JsonObject
}

/** A gate whose config has been read; runs as often as needed. */
export type ReadyGate = (facts: Facts, situation: GateSituation) => GateReading

export interface GateSituation {
  /** `policy_id/gate_id` */
  readonly gate_name: string
  /** Another enforced gate denies. Known to gates that run last; false for the others. */
  readonly isDenied: boolean
  /** In observe mode: it denies nothing, and asks no person. */
  readonly isObserved?: true
}

/**
 * One registered gate type. Implementers: `prepare` must refuse a config it does not fully understand with a FormError
 * (an ignored member would be a rule without effect), and the gate it returns must depend on the facts alone.
 */
export interface GateType {
  readonly name: string
  prepare(config: JsonObject): ReadyGate
  /**
   * For a gate that asks another system: what it asks about a request, undefined when the facts allow no question. The
   * gate finds the answer in the facts; it never asks by itself.
   */
  prepareQuestion?(config: JsonObject): AskingGate
  /** For a gate that counts: steps that apply are limited in number, and their counters are locked first. */
  prepareBudget?(config: JsonObject): Budget
  /** For a gate that asks a person: which of them are needed is known before they run. */
  prepareApproval?(config: JsonObject): ApprovalRule
  /** Runs after all other gates of all policies, and keeps its place among the results. */
  readonly runsLast?: true
}

export type AskingGate = (facts: Facts) => EngineQuestion | undefined

/** The verdict on one fact. */
export type FactVerdict = readonly [outcome: GateOutcome, text: string]

/** A gate over the fact at one path, which is how all but one of the types work. */
export function overFact(path: FactPath, condition: JsonObject, checkFact: (fact: Fact) => FactVerdict): ReadyGate {
  return (facts) => {
    const fact = findFact(path, facts)
    const [outcome, text] = checkFact(fact)
    return { outcome, text, path: path.text, type: fact.type, value: fact.value, condition }
  }
}

export function readConfig<Value>(read: Read<Value>, config: JsonObject): Value {
  return readRecord(read, config)
}

/** A place in the facts of a request, for example `request_parameters.amount`. */
export const factPath: Read<FactPath> = described(
  (value, field) => readFactPath(value, field),
  () => ({ type: 'string', format: 'fact-path' }),
)

export function finiteNumber(value: JsonValue, field: string): JsonValue {
  if (isScalar(value) && typeof value !== 'string' && typeof value !== 'boolean' && value !== null) return value
  throw new FormError(field, 'a number is needed')
}

export function scalar(value: JsonValue, field: string): Scalar {
  if (isScalar(value)) return value
  throw new FormError(field, 'a text, number, boolean or null is needed')
}

described(finiteNumber, () => ({ type: 'number' }))
described(scalar, () => ({ type: ['string', 'number', 'boolean', 'null'] }))

/** True for facts that are not there: a missing member, or null where null means nothing. */
export function isAbsent({ value }: Fact): boolean {
  return value === undefined || value === null
}

export const MISSING: FactVerdict = ['missing_context', 'the fact is missing']
