import type { JsonObject, JsonValue } from '@chancery/protocol'
import { isObject } from '../../policies/policy-text.ts'
import { fieldsOf } from './gate-fields.ts'

export type Place = readonly (string | number)[]

/** gates[2].config.max, as the authority names it. */
export const placeText = (place: Place): string =>
  place.map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`)).join('')

export function valueAt(value: JsonValue | undefined, place: Place): JsonValue | undefined {
  let found = value
  for (const step of place) {
    if (typeof step === 'number') found = Array.isArray(found) ? (found as readonly JsonValue[])[step] : undefined
    else found = isObject(found) && Object.hasOwn(found, step) ? found[step] : undefined
  }
  return found
}

/** Returns the draft with one value changed. Undefined removes a member, and an object that is empty after that. */
export function withValue(intent: JsonObject, place: Place, value: JsonValue | undefined): JsonObject {
  return (change(intent, place, value) ?? {}) as JsonObject
}

function change(holder: JsonValue | undefined, place: Place, value: JsonValue | undefined): JsonValue | undefined {
  const [step, ...rest] = place
  if (step === undefined) return value
  if (typeof step === 'number') {
    const items = Array.isArray(holder) ? (holder as readonly JsonValue[]) : []
    return items.map((item, index) => (index === step ? (change(item, rest, value) ?? {}) : item))
  }
  const members = isObject(holder) ? holder : {}
  const inner = change(members[step], rest, value)
  const isLeft = inner === undefined || (value === undefined && isObject(inner) && Object.keys(inner).length === 0)
  if (!isLeft) return { ...members, [step]: inner }
  return Object.fromEntries(Object.entries(members).filter(([name]) => name !== step))
}

export const gatesOf = ({ gates }: JsonObject): readonly JsonValue[] =>
  Array.isArray(gates) ? (gates as readonly JsonValue[]) : []

const orderOf = (gate: JsonValue): JsonValue | undefined => (isObject(gate) ? gate['order'] : undefined)

/** Positions of the gates in the order in which they run. Without usable orders they are listed as written. */
export function runOrder(gates: readonly JsonValue[]): readonly number[] {
  const at = gates.map((_, index) => index)
  return hasOrders(gates)
    ? at.toSorted((a, b) => Number(orderOf(gates[a] ?? null)) - Number(orderOf(gates[b] ?? null)))
    : at
}

function hasOrders(gates: readonly JsonValue[]): boolean {
  const orders = gates.map(orderOf)
  return orders.every((order) => Number.isSafeInteger(order)) && new Set(orders).size === orders.length
}

export function withGate(intent: JsonObject): JsonObject {
  const gates = gatesOf(intent)
  const orders = gates.map(orderOf).filter((order) => typeof order === 'number')
  const ids = new Set(gates.map((gate) => isObject(gate) && gate['gate_id']))
  let number = gates.length + 1
  while (ids.has(`gate-${number}`)) number += 1
  const gate = {
    gate_id: `gate-${number}`,
    gate_type: 'max_value.v1',
    order: orders.length === 0 ? 0 : Math.max(...orders) + 1,
    config: {},
  }
  return { ...intent, gates: [...gates, gate] }
}

export function withoutGate(intent: JsonObject, index: number): JsonObject {
  return { ...intent, gates: gatesOf(intent).filter((_, at) => at !== index) }
}

/**
 * Moves a gate one place in the order in which gates run. The gates exchange their orders, so all others stay; orders
 * that cannot be used are numbered again.
 */
export function withMovedGate(intent: JsonObject, index: number, step: -1 | 1): JsonObject {
  const gates = gatesOf(intent)
  const running = runOrder(gates)
  const at = running.indexOf(index)
  const other = running[at + step]
  if (at < 0 || other === undefined) return intent
  const next = running.with(at, other).with(at + step, index)
  const orders = hasOrders(gates) ? running.map((each) => orderOf(gates[each] ?? null) ?? 0) : next.map((_, i) => i)
  const moved = next.map((each, i): JsonValue => {
    const gate = gates[each] ?? null
    return isObject(gate) ? { ...gate, order: orders[i] ?? i } : gate
  })
  return { ...intent, gates: moved }
}

/** What the config of a gate had under each earlier type. */
export type EarlierConfigs = Map<string, JsonObject>

/**
 * Changes the type of a gate. Members of the config that only the earlier type has are removed; unknown ones stay. They
 * are stored in `earlier`, and return with their type. Members that both types have stay as they are now.
 */
export function withGateType(
  intent: JsonObject,
  index: number,
  gateType: string,
  earlier: EarlierConfigs = new Map(),
): JsonObject {
  const gate = gatesOf(intent)[index]
  if (!isObject(gate)) return intent
  const names = (type: unknown): ReadonlySet<string> =>
    new Set(fieldsOf(type)?.map(({ name }) => name.split('.')[0] ?? ''))
  const [before, after] = [names(gate['gate_type']), names(gateType)]
  const { config, gate_type: now } = gate
  const part = (of: JsonObject, isPart: (name: string) => boolean): JsonObject =>
    Object.fromEntries(Object.entries(of).filter(([name]) => isPart(name)))
  const next = isObject(config)
    ? {
        ...part(earlier.get(gateType) ?? {}, (name) => !before.has(name)),
        ...part(config, (name) => after.has(name) || !before.has(name)),
      }
    : config
  if (typeof now === 'string' && isObject(config))
    earlier.set(
      now,
      part(config, (name) => before.has(name)),
    )
  const changed = { ...gate, gate_type: gateType, ...(next === undefined ? {} : { config: next }) }
  return { ...intent, gates: gatesOf(intent).with(index, changed) }
}

/** Gives a member another name in its place. Undefined when the name is used already. */
export function renamed(members: JsonObject, from: string, to: string): JsonObject | undefined {
  if (from !== to && Object.hasOwn(members, to)) return undefined
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name === from ? to : name, value]))
}

/** Names of members that the form has no field for. */
export function otherMembers(value: JsonValue | undefined, known: readonly string[]): readonly string[] {
  return isObject(value) ? Object.keys(value).filter((name) => !known.includes(name)) : []
}
