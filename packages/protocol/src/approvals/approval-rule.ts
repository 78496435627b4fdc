import { MAX_REQUIREMENTS } from '../artifacts/approval-request.ts'
import { type FactPath, type Facts, findFact, readFactPath } from '../boundary/facts.ts'
import { factPath } from '../boundary/gates/gate.ts'
import { type Amount, MAX_SCALE, decimal } from '../budgets/amounts.ts'
import { readLimits } from '../budgets/budget.ts'
import { amountAt, perValue } from '../budgets/budget-step.ts'
import { PER, type Per } from '../budgets/limits.ts'
import { digestOf } from '../canonical/digest.ts'
import { DAY, type Instant } from '../canonical/time.ts'
import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import { FormError, type Read, described } from '../reading/schema.ts'
import { anyOf, arrayOf, closed, integer, mapOf, oneOf, optional, required, withDefault } from '../reading/shape.ts'
import { instantOf, keyId, plainText } from '../reading/text.ts'
import type { Show } from './bound-request.ts'
import type { ApprovalRule } from './rule.ts'

const title: Read<string> = described(
  (value, field) => {
    const text = plainText(120)(value, field)
    // They make a text look like another one.
    if (/\p{Bidi_Control}/u.test(text)) throw new FormError(field, 'has a character that changes the direction')
    return text
  },
  () => ({ type: 'string', minLength: 1, maxLength: 120 }),
)

const boundPath: Read<FactPath> = described(
  (value, field) => {
    const path = readFactPath(value, field)
    const [root] = path.segments
    if (root !== 'request_parameters' && root !== 'attributes')
      throw new FormError(field, 'a path below request_parameters or attributes is needed')
    return path
  },
  () => ({ type: 'string', format: 'fact-path' }),
)

const count = required(integer(1, 5))
const role = required(plainText(128))
const approvers = anyOf(
  closed({
    kind: required(oneOf('operators')),
    count,
    tier: withDefault(oneOf('standard', 'privileged'), 'standard'),
    key_ids: withDefault<readonly string[]>(arrayOf(keyId, { max: 64, distinct: true }), []),
  }),
  closed({ kind: required(oneOf('members', 'partner')), count, role }),
)

const always = closed({ kind: required(oneOf('always')) })
const above = closed({
  kind: required(oneOf('above')),
  path: required(factPath),
  scale: required(integer(0, MAX_SCALE)),
  unit_path: optional(factPath),
  limit: optional(decimal),
  limits: optional(mapOf(decimal)),
})
const firstUse = closed({
  kind: required(oneOf('first_use')),
  per: required(arrayOf(oneOf(...PER), { min: 1, max: 3, distinct: true })),
  days: required(integer(1, 366)),
})

const ALWAYS = { kind: 'always' } as const

const shape = closed({
  title: required(title),
  when: withDefault<ReturnType<typeof always | typeof above | typeof firstUse>>(
    anyOf(always, anyOf(above, firstUse)),
    ALWAYS,
  ),
  approvers: required(arrayOf(approvers, { min: 1, max: MAX_REQUIREMENTS })),
  show: withDefault<Show>(anyOf(oneOf('all'), arrayOf(factPath, { min: 1, max: 16 })), 'all'),
  expires_seconds: withDefault(integer(60, 2_592_000), 86_400),
  use_within_seconds: withDefault(integer(30, 86_400), 900),
  bind_except: withDefault<readonly FactPath[]>(arrayOf(boundPath, { max: 8 }), []),
})
export const approvalConfig: Read<unknown> = shape

/** The config of an approval.v1 gate. Throws {@link FormError} for one that is not fully understood. */
export function readApprovalConfig(config: JsonObject): ApprovalRule {
  const read = shape(config, '')
  return {
    title: read.title,
    when: (config['when'] as JsonObject | undefined) ?? ALWAYS,
    ...readWhen(read.when),
    approvers: read.approvers,
    show: read.show,
    expiresSeconds: read.expires_seconds,
    useWithinSeconds: read.use_within_seconds,
    unbound: read.bind_except,
  }
}

type When = ReturnType<typeof shape>['when']

function readWhen(when: When): Pick<ApprovalRule, 'isNeeded' | 'useKey'> {
  switch (when.kind) {
    case 'always':
      return { isNeeded: () => true, useKey: undefined }
    case 'above':
      return { isNeeded: whenAbove(when), useKey: undefined }
    case 'first_use': {
      const useKey = (facts: Facts, gate_name: string): string | undefined => useKeyOf(when.per, facts, gate_name)
      return { isNeeded: whenFirst(useKey, when.days), useKey }
    }
  }
}

function whenAbove({ path, scale, unit_path, limit, limits }: ReturnType<typeof above>): ApprovalRule['isNeeded'] {
  const read = readLimits({ scale, hasUnits: unit_path !== undefined, limit, limits })
  return (facts) => {
    const unit = unit_path === undefined ? null : (findFact(unit_path, facts).value ?? undefined)
    if (unit === undefined) return 'missing_context'
    const most = limitOf(read, unit)
    if (most === undefined) return 'invalid_context'
    const asked = amountAt(path, scale, facts)
    return typeof asked === 'string' ? asked : asked > most
  }
}

function limitOf(limits: ReadonlyMap<string | null, Amount>, unit: JsonValue): Amount | undefined {
  return unit === null || typeof unit === 'string' ? limits.get(unit) : undefined
}

function whenFirst(useKey: NonNullable<ApprovalRule['useKey']>, days: number): ApprovalRule['isNeeded'] {
  return (facts, gate_name) => {
    const key = useKey(facts, gate_name)
    if (key === undefined) return 'missing_context'
    const recorded = facts.approvals?.recorded?.get(gate_name)
    if (recorded !== undefined) return recorded
    const last = facts.approvals?.uses.get(key)
    return last === undefined || !isWithin(instantOf(last), instantOf(facts.context.requested_at), days)
  }
}

function isWithin(last: Instant, now: Instant, days: number): boolean {
  return now - last <= BigInt(days) * DAY
}

function useKeyOf(per: readonly Per[], facts: Facts, gate_name: string): string | undefined {
  const values = per.map((name) => [name, perValue(name, facts)] as const)
  if (values.some(([, value]) => value === undefined)) return undefined
  return digestOf({ gate: gate_name, per: Object.fromEntries(values) as JsonObject })
}
