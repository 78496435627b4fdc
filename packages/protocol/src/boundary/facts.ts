import { type JsonObject, type JsonValue, isJsonObject, member } from '../canonical/utf8.ts'
import type { ApprovalFacts } from '../approvals/found-approval.ts'
import type { BudgetCounters } from '../budgets/counters.ts'
import { FormError } from '../reading/schema.ts'
import { type EngineAnswers, type ValueType, valueTypeOf } from './engine-question.ts'

/** The members of a context record a policy can read (protocol/trust-operations 4.1). */
export interface ContextFacts {
  readonly agreement_id: string
  readonly parent_kind: string
  readonly requester_sovereign_id: string
  readonly provider_sovereign_id: string
  readonly requested_capability: string
  readonly request_parameters: JsonObject
  readonly requested_at: string
  readonly context_freshness_seq: number
  readonly attributes: JsonObject
}

/** What a verified attestation says; bound by the engine, never taken from the caller. */
export interface AttestationFacts {
  readonly subject_id: string
  readonly roles: readonly string[]
  readonly claims: JsonObject
}

/** Everything gates and selectors may look at. */
export interface Facts {
  readonly context: ContextFacts
  readonly attestation: AttestationFacts | undefined
  /** Answers to the questions of gates that ask another system. A gate without its answer denies. */
  readonly answers?: EngineAnswers
  /** State of the counters. A budget without it is not available, which denies. */
  readonly budgets?: BudgetCounters
  /** What is known about approvals. Without it a gate that asks a person denies. */
  readonly approvals?: ApprovalFacts
}

/** A fact path, split once when its policy is prepared. */
export interface FactPath {
  readonly text: string
  readonly segments: readonly string[]
}

export interface Fact {
  /** Undefined when missing. A timestamp is its text. */
  readonly value: JsonValue | undefined
  readonly type: ValueType
}

const SEGMENT = /^[A-Za-z0-9_-]{1,64}$/
const MAX_SEGMENTS = 8

/** Context members that are a fact by themselves. */
const ROOTS: ReadonlySet<string> = new Set([
  'requested_capability',
  'requester_sovereign_id',
  'provider_sovereign_id',
  'agreement_id',
  'parent_kind',
  'context_freshness_seq',
  'requested_at',
])

/** Splits a path, or throws: with an invalid path a gate would always fail without a visible cause. */
export function readFactPath(value: JsonValue | undefined, field: string): FactPath {
  const segments = typeof value === 'string' && value.length <= MAX_SEGMENTS * 65 ? value.split('.') : []
  const isSpelt =
    segments.length > 0 && segments.length <= MAX_SEGMENTS && segments.every((segment) => SEGMENT.test(segment))
  if (!isSpelt || !hasRoot(segments)) throw new FormError(field, 'a fact path is needed')
  return { text: segments.join('.'), segments }
}

function hasRoot([root = '', second, ...rest]: readonly string[]): boolean {
  if (root === 'request_parameters' || root === 'attributes') return second !== undefined
  if (root !== 'attestation') return ROOTS.has(root) && second === undefined
  if (second === 'claims') return rest.length > 0
  return (second === 'subject_id' || second === 'roles') && rest.length === 0
}

/** The fact at a path that has been read by {@link readFactPath}. */
export function findFact({ segments }: FactPath, facts: Facts): Fact {
  const [root = '', ...rest] = segments
  if (root === 'requested_at') return { value: facts.context.requested_at, type: 'timestamp' }
  const value = walk(rootValue(root, facts), rest)
  return { value, type: valueTypeOf(value) }
}

function rootValue(root: string, { context, attestation }: Facts): JsonValue | undefined {
  if (root !== 'attestation') return context[root as keyof ContextFacts]
  if (attestation === undefined) return undefined
  const { subject_id, roles, claims } = attestation
  return { subject_id, roles, claims }
}

/** Through own members of objects only: a list index or `constructor` never leads anywhere. */
function walk(start: JsonValue | undefined, steps: readonly string[]): JsonValue | undefined {
  let at = start
  for (const step of steps) {
    if (!isJsonObject(at)) return undefined
    at = member(at, step)
  }
  return at
}
