import { isForOneUse } from '../artifacts/boundary-decision.ts'
import type { BoundaryDecision } from '../artifacts/boundary-decision.ts'
import { type JsonObject, type JsonValue, isJsonObject, member } from '../canonical/utf8.ts'
import { type Instant, readInstant } from '../canonical/time.ts'
import { isBudgetStep } from './budget-use.ts'

/** What the entries of a store say about budgets, as plain data. */
export type BudgetEvent =
  | {
      readonly kind: 'decision'
      readonly decision_id: string
      readonly authorized: boolean
      readonly madeAt: Instant
      readonly validUntil: Instant
      readonly context: JsonObject
      /** Issuer and subject of the attestation that the decision is bound to. */
      readonly subject: readonly [JsonValue, JsonValue]
      readonly policies: readonly string[]
    }
  | { readonly kind: 'justification'; readonly decision_id: string; readonly steps: readonly RecordedBudgetStep[] }
  | { readonly kind: 'execution'; readonly decision_id: string; readonly executor: string; readonly outcome: string }
  | {
      readonly kind: 'approval'
      readonly approval_id: string
      readonly event: string
      readonly decision_id: string
      /** Until when what it reserves is live, where the event says so. */
      readonly until: Instant | undefined
    }

export interface RecordedBudgetStep {
  readonly gate_type: string
  readonly result: boolean
  readonly inputs: JsonObject
}

/** What one entry says about budgets; undefined when it says nothing. Its form is checked elsewhere. */
export function readBudgetEvent(entry_kind: string, payload: JsonValue): BudgetEvent | undefined {
  if (!isJsonObject(payload)) return undefined
  switch (entry_kind) {
    case 'decision':
      return readDecision(payload)
    case 'justification':
      return readJustification(payload)
    case 'execution': {
      const { decision_id, executor_sovereign_id: executor, outcome } = payload
      const isWhole = typeof decision_id === 'string' && typeof executor === 'string' && typeof outcome === 'string'
      return isWhole ? { kind: 'execution', decision_id, executor, outcome } : undefined
    }
    case 'approval':
      return readApproval(payload)
    default:
      return undefined
  }
}

const instantAt = (object: JsonObject, name: string): Instant | undefined => {
  const value = member(object, name)
  return typeof value === 'string' ? readInstant(value) : undefined
}

function readDecision({ decision, context }: JsonObject): BudgetEvent | undefined {
  if (!isJsonObject(decision) || !isJsonObject(context) || !mayCount(decision)) return undefined
  const { decision_id, authorized, attestation_binding: binding, policy_binding } = decision
  const [madeAt, validUntil] = [instantAt(decision, 'decision_made_at'), instantAt(decision, 'decision_valid_until')]
  if (typeof decision_id !== 'string' || typeof authorized !== 'boolean') return undefined
  if (madeAt === undefined || validUntil === undefined) return undefined
  const bound = isJsonObject(binding) ? binding : {}
  const subject = [bound['issuer_sovereign_id'] ?? null, bound['subject_id'] ?? null] as const
  const applied = isJsonObject(policy_binding) ? policy_binding['policies'] : undefined
  const policies = (Array.isArray(applied) ? (applied as readonly JsonValue[]) : []).flatMap((each) =>
    isJsonObject(each) && typeof each['policy_digest'] === 'string' ? [each['policy_digest']] : [],
  )
  return { kind: 'decision', decision_id, authorized, madeAt, validUntil, context, subject, policies }
}

/** Only decisions under a budget or an approval are read: a store has many others. */
function mayCount(decision: JsonObject): boolean {
  const { gate_results, policy_binding } = decision
  if (!Array.isArray(gate_results)) return false
  const types = isJsonObject(policy_binding) ? policy_binding['registry_gate_types'] : []
  if (!Array.isArray(types)) return false
  return isForOneUse(decision as unknown as BoundaryDecision)
}

function readJustification({ decision_id, trace }: JsonObject): BudgetEvent | undefined {
  const entries = isJsonObject(trace) ? trace['entries'] : undefined
  if (typeof decision_id !== 'string' || !Array.isArray(entries)) return undefined
  const steps = (entries as readonly JsonValue[]).flatMap((entry): RecordedBudgetStep[] => {
    if (!isJsonObject(entry)) return []
    const { gate_type, result, inputs } = entry
    const isStep = typeof gate_type === 'string' && typeof result === 'boolean' && isJsonObject(inputs)
    return isStep && isBudgetStep({ gate_type }) ? [{ gate_type, result, inputs }] : []
  })
  return steps.length === 0 ? undefined : { kind: 'justification', decision_id, steps }
}

function readApproval(payload: JsonObject): BudgetEvent | undefined {
  const { approval_id, event, decision_id, approval_request } = payload
  if (typeof approval_id !== 'string' || typeof event !== 'string' || typeof decision_id !== 'string') return undefined
  const until =
    event === 'approved'
      ? instantAt(payload, 'use_until')
      : isJsonObject(approval_request)
        ? instantAt(approval_request, 'expires_at')
        : undefined
  return { kind: 'approval', approval_id, event, decision_id, until }
}
