import { readFactPath } from '../boundary/facts.ts'
import type { FactPath } from '../boundary/facts.ts'
import { factPath } from '../boundary/gates/gate.ts'
import { isCapabilityPattern } from '../boundary/selector.ts'
import { digestOf } from '../canonical/digest.ts'
import { type JsonObject, type JsonValue, isJsonObject } from '../canonical/utf8.ts'
import { FormError, type Read, described } from '../reading/schema.ts'
import {
  anyOf,
  arrayOf,
  boolean,
  closed,
  integer,
  mapOf,
  oneOf,
  optional,
  required,
  withDefault,
} from '../reading/shape.ts'
import { label, plainText } from '../reading/text.ts'
import { asJson } from '../signing/verify-any.ts'
import { type Amount, MAX_SCALE, decimal, limitUnits } from './amounts.ts'
import { type Budget, type BudgetMatch, type BudgetSettle, PER, type Per, type TreatyBudget } from './limits.ts'
import { type BudgetWindow, budgetWindow } from './windows.ts'

const capabilityPattern: Read<string> = described(
  (value, field) => {
    const text = label(value, field)
    if (!isCapabilityPattern(text)) throw new FormError(field, '* is allowed only at the end, after a dot')
    return text
  },
  () => ({ type: 'string', minLength: 1 }),
)
export const capabilityPatterns: Read<readonly string[]> = arrayOf(capabilityPattern, { min: 1, max: 64 })

const texts = arrayOf(label, { min: 1, max: 256 })
const match = closed({
  requesters: optional(texts),
  subjects: optional(texts),
  nodes: optional(texts),
  treaty_ids: optional(texts),
  capabilities: optional(arrayOf(capabilityPattern, { min: 1, max: 256 })),
})

const measure = anyOf(
  closed({ kind: required(oneOf('count')) }),
  closed({
    kind: required(oneOf('sum')),
    path: required(factPath),
    scale: required(integer(0, MAX_SCALE)),
    unit_path: optional(factPath),
  }),
)

const common = {
  measure: required(measure),
  window: required(budgetWindow),
  limit: optional(decimal),
  limits: optional(mapOf(decimal)),
  counts: withDefault(oneOf('on_allow', 'on_execution'), 'on_allow'),
  executors: optional(arrayOf(label, { min: 1, max: 16, distinct: true })),
  settle_seconds: optional(integer(60, 604_800)),
}

const gateShape = closed({
  ...common,
  per: withDefault<readonly Per[]>(arrayOf(oneOf(...PER), { max: 3, distinct: true }), []),
  match: withDefault<BudgetMatch>(match, {}),
  visible: withDefault(boolean, false),
})
export const budgetConfig: Read<unknown> = gateShape

const BUDGET_ID = /^[a-z0-9_-]{1,64}$/
const treatyShape = closed({
  ...common,
  budget_id: required(plainText(64)),
  capabilities: required(capabilityPatterns),
  per: withDefault<readonly ('subject' | 'node')[]>(arrayOf(oneOf('subject', 'node'), { max: 2, distinct: true }), []),
})

/** The config of a budget.v1 gate. Throws {@link FormError} for one that is not fully understood. */
export function readBudgetConfig(config: JsonObject): Budget {
  const { per, match: matched, visible, ...given } = gateShape(config, '')
  return { ...complete(given, config), per, match: matched, visible }
}

/** One object of `scope.claims.budgets`. Throws {@link FormError}. */
export function readTreatyBudget(value: JsonValue, field: string): TreatyBudget {
  const { budget_id, capabilities, per, ...given } = treatyShape(value, field)
  if (!BUDGET_ID.test(budget_id)) throw new FormError(`${field}.budget_id`, '1 to 64 characters of a-z 0-9 _ -')
  return { ...complete(given, value as JsonObject), budget_id, capabilities, per, match: {}, visible: true }
}

type Given = Omit<ReturnType<typeof gateShape>, 'per' | 'match' | 'visible'>
type Common = Omit<Budget, 'per' | 'match' | 'visible'>

const MAX_UNITS = 16
const MAX_UNIT_CHARACTERS = 32

function complete({ measure: read, window, limit, limits, ...given }: Given, config: JsonObject): Common {
  const sum = read.kind === 'sum' ? read : undefined
  const scale = sum?.scale ?? 0
  const hasUnits = sum?.unit_path !== undefined
  return {
    measure: measureOf(config),
    scale,
    path: sum?.path,
    unitPath: sum?.unit_path,
    window,
    limits: readLimits({ scale, hasUnits, limit, limits }),
    counts: given.counts,
    settle: settleOf(given),
  }
}

export interface GivenLimits {
  readonly scale: number
  readonly hasUnits: boolean
  readonly limit?: JsonValue | undefined
  readonly limits?: { readonly [unit: string]: JsonValue } | undefined
}

/** Limits by unit, or the only one under null. Throws {@link FormError}. */
export function readLimits({ scale, hasUnits, limit, limits }: GivenLimits): ReadonlyMap<string | null, Amount> {
  if ((limit === undefined) === (limits === undefined)) throw new FormError('limit', 'exactly one of limit and limits')
  if (hasUnits !== (limits !== undefined)) throw new FormError('limits', 'needs unit_path, and unit_path needs it')
  const units = Object.entries(limits ?? {})
  if (hasUnits && (units.length === 0 || units.length > MAX_UNITS))
    throw new FormError('limits', `1 to ${MAX_UNITS} units`)
  if (units.some(([unit]) => unit === '' || Array.from(unit).length > MAX_UNIT_CHARACTERS))
    throw new FormError('limits', `a unit has 1 to ${MAX_UNIT_CHARACTERS} characters`)
  const all: readonly (readonly [string | null, JsonValue])[] = limit === undefined ? units : [[null, limit]]
  return new Map(all.map(([unit, each]) => [unit, limitUnits(each, scale, unit === null ? 'limit' : 'limits')]))
}

function measureOf({ measure: given }: JsonObject): JsonObject {
  if (!isJsonObject(given)) throw new FormError('measure', 'an object is needed')
  return given
}

const SETTLE_SECONDS = 3600

function settleOf({
  counts,
  executors,
  settle_seconds,
}: Pick<Given, 'counts' | 'executors' | 'settle_seconds'>): BudgetSettle | null {
  if (counts === 'on_execution') {
    if (executors === undefined) throw new FormError('executors', 'is needed with on_execution')
    return { executors, seconds: settle_seconds ?? SETTLE_SECONDS }
  }
  if (executors !== undefined) throw new FormError('executors', 'is refused without on_execution')
  if (settle_seconds !== undefined) throw new FormError('settle_seconds', 'is refused without on_execution')
  return null
}

/** What one counter is about. */
export interface BudgetIdentity {
  readonly measure: JsonObject
  readonly per: JsonObject
  readonly source: string
  readonly unit: string | null
  readonly window: BudgetWindow
}

/** H(C(identity)): neither limit, version nor treaty is part of it, so that a change of them continues the count. */
export function budgetKey({ measure: of, per, source, unit, window }: BudgetIdentity): string {
  return digestOf({ measure: of, per, source, unit, window: asJson(window) })
}

/** The path of a recorded measure; undefined when it is none. */
export function recordedPath(value: JsonValue | undefined): FactPath | undefined {
  try {
    return readFactPath(value, '')
  } catch (error) {
    if (error instanceof FormError) return undefined
    throw error
  }
}
