import { type FactPath, type Facts, findFact } from '../boundary/facts.ts'
import type { GateOutcome } from '../boundary/gates/gate.ts'
import { namesCapability } from '../boundary/selector.ts'
import { type JsonObject, type JsonValue, isJsonObject, member } from '../canonical/utf8.ts'
import { instantOf } from '../reading/text.ts'
import { asJson } from '../signing/verify-any.ts'
import { type Amount, type UnreadAmount, readAmount, writeAmount } from './amounts.ts'
import { budgetKey } from './budget.ts'
import type { Budget, BudgetMatch, Per } from './limits.ts'
import { windowAt } from './windows.ts'

/** The result of one budget: the outcome, its text, and what a proof shows, always with the same members. */
export interface BudgetReading {
  readonly outcome: Extract<GateOutcome, 'pass' | 'fail' | UnreadAmount | 'gate_error'>
  readonly text: string
  readonly inputs: JsonObject
}

/** Runs one budget on a request (protocol/budgets-and-approvals 5). */
export function runBudget(budget: Budget, source: string, facts: Facts): BudgetReading {
  const whole = budget.unitPath === undefined ? budget.limits.get(null) : undefined
  if (!budgetApplies(budget, facts))
    return reading('pass', 'budget does not apply', inputsOf(budget, source, { applies: false, limit: whole }))
  const named = nameCounter(budget, facts)
  if ('fault' in named) return unreadable(named.fault, inputsOf(budget, source, { applies: true, limit: whole }))
  const { per, unit, limit } = named
  const { measure, window, scale } = budget
  const budget_key = budgetKey({ measure, per, source, unit, window })
  const at = instantOf(facts.context.requested_at)
  const known = { applies: true, limit, per, unit, budget_key, window: asJson(windowAt(window, at)) }
  const asked = askedAmount(budget, facts)
  if (typeof asked === 'string') return unreadable(asked, inputsOf(budget, source, known))
  const state = facts.budgets?.read({ budget_key, source, window, at })
  if (state === undefined) return reading('gate_error', 'budget not available', inputsOf(budget, source, known))
  const isWithin = state.used + asked <= limit
  const rest = limit - state.used - (isWithin ? asked : 0n)
  const inputs = {
    ...inputsOf(budget, source, known),
    used_before: writeAmount(state.used, scale),
    reserved_before: writeAmount(state.reserved, scale),
    asked: writeAmount(asked, scale),
    remaining: writeAmount(rest < 0n ? 0n : rest, scale),
    replaces: state.replaces,
  }
  return isWithin ? reading('pass', 'within budget', inputs) : reading('fail', 'budget exceeded', inputs)
}

function reading(outcome: BudgetReading['outcome'], text: string, inputs: JsonObject): BudgetReading {
  return { outcome, text, inputs }
}

function unreadable(fault: UnreadAmount, inputs: JsonObject): BudgetReading {
  return reading(fault, 'budget cannot be applied', inputs)
}

/** Whether the request is one that the budget limits: every member of match that is given, one value of each. */
export function budgetApplies({ match }: Pick<Budget, 'match'>, facts: Facts): boolean {
  const isNamed = (values: BudgetMatch['nodes'], value: JsonValue | undefined): boolean =>
    values === undefined || (typeof value === 'string' && values.includes(value))
  const { context } = facts
  return (
    isNamed(match.requesters, context.requester_sovereign_id) &&
    isNamed(match.subjects, subjectOf(facts)?.[1]) &&
    isNamed(match.nodes, nodeOf(facts)) &&
    isNamed(match.treaty_ids, memberOf(context.attributes, 'chancery_recognition', 'treaty_id')) &&
    (match.capabilities === undefined || namesCapability(match.capabilities, context.requested_capability))
  )
}

type NamedCounter =
  | { readonly per: JsonObject; readonly unit: string | null; readonly limit: Amount }
  | { readonly fault: UnreadAmount }

/** Which counter of a budget a request uses, and its limit. */
function nameCounter({ per, unitPath, limits }: Budget, facts: Facts): NamedCounter {
  const values = per.map((name) => [name, perValue(name, facts)] as const)
  if (values.some(([, value]) => value === undefined)) return { fault: 'missing_context' }
  const unit = unitPath === undefined ? null : findFact(unitPath, facts).value
  if (unitPath !== undefined && (unit === undefined || unit === null)) return { fault: 'missing_context' }
  const limit = unit === null || typeof unit === 'string' ? limits.get(unit) : undefined
  if (limit === undefined) return { fault: 'invalid_context' }
  return { per: Object.fromEntries(values) as JsonObject, unit: unit as string | null, limit }
}

/** Facts that no caller chooses, and that a new attestation or certificate does not change. */
export function perValue(name: Per, facts: Facts): JsonValue | undefined {
  if (name === 'requester') return facts.context.requester_sovereign_id
  return name === 'subject' ? subjectOf(facts) : nodeOf(facts)
}

/** Issuer and subject_id of the attestation. Names that begin with chancery_ are written by the authority only. */
function subjectOf({ context, attestation }: Facts): readonly [string, string] | undefined {
  const issuer = memberOf(context.attributes, 'chancery_recognition', 'issuer_sovereign_id')
  const subject = memberOf(context.attributes, 'chancery_recognition', 'subject_id')
  if (typeof issuer === 'string' && typeof subject === 'string') return [issuer, subject]
  return attestation === undefined ? undefined : [context.provider_sovereign_id, attestation.subject_id]
}

function nodeOf({ context }: Facts): string | undefined {
  const key = memberOf(context.attributes, 'chancery_request', 'node_public_key')
  return typeof key === 'string' ? key : undefined
}

function memberOf(attributes: JsonObject, outer: string, inner: string): JsonValue | undefined {
  const found = member(attributes, outer)
  return isJsonObject(found) ? member(found, inner) : undefined
}

function askedAmount({ path, scale }: Budget, facts: Facts): Amount | UnreadAmount {
  return path === undefined ? 1n : amountAt(path, scale, facts)
}

/** The amount at a path of a request. */
export function amountAt(path: FactPath, scale: number, facts: Facts): Amount | UnreadAmount {
  return readAmount(findFact(path, facts).value, scale)
}

interface Known {
  readonly applies: boolean
  readonly limit: Amount | undefined
  readonly per?: JsonObject
  readonly unit?: string | null
  readonly budget_key?: string
  readonly window?: JsonObject
}

/** Always exactly these members; they do not depend on disclose_input. */
function inputsOf({ measure, scale, counts, settle }: Budget, source: string, known: Known): JsonObject {
  const { applies, limit, per = null, unit = null, budget_key = null, window = null } = known
  return {
    applies,
    source,
    counts,
    settle: settle === null ? null : asJson(settle),
    budget_key,
    window,
    measure,
    per,
    unit,
    limit: limit === undefined ? null : writeAmount(limit, scale),
    used_before: null,
    reserved_before: null,
    asked: null,
    remaining: null,
    replaces: null,
  }
}
