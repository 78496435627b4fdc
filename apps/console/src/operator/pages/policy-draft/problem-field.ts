import type { JsonObject, JsonValue } from '@chancery/protocol'
import { isObject } from '../policies/policy-text.ts'

interface Issue {
  readonly code: string
  readonly message: string
  readonly gate_id?: string | null
}

/** Members that a code is about. Codes without an entry are about a gate, or about the whole policy. */
const FIELDS: Readonly<Record<string, string>> = {
  invalid_policy_id: 'policy_id',
  missing_policy_id: 'policy_id',
  invalid_validity_window: 'valid_until',
  missing_validity_window: 'valid_until',
  no_gates: 'gates',
  too_many_gates: 'gates',
  invalid_fact_path: 'selector.parameter_equals',
}
const GATE_FIELDS: Readonly<Record<string, string>> = {
  duplicate_gate_id: 'gate_id',
  invalid_gate_id: 'gate_id',
  duplicate_gate_order: 'order',
  invalid_order: 'order',
  unknown_gate_type: 'gate_type',
  invalid_gate_config: 'config',
}

export const fieldOfCode = (code: string): string => (Object.hasOwn(FIELDS, code) ? (FIELDS[code] ?? '') : '')

/** Returns the member that an issue is about, for example gates[2].config.max; empty for the whole policy. */
export function fieldOfIssue(intent: JsonObject, { code, message, gate_id }: Issue): string {
  if (gate_id !== undefined && gate_id !== null) {
    const part = Object.hasOwn(GATE_FIELDS, code) ? (GATE_FIELDS[code] ?? '') : ''
    // config.values[3]: a text is needed
    const inside = /^config((?:\.[A-Za-z0-9_]+|\[[0-9]+\])+):/.exec(message)?.[1] ?? ''
    return `gates[${gateIndex(intent, gate_id, code)}]${part === '' ? '' : `.${part}${part === 'config' ? inside : ''}`}`
  }
  const list = code === 'invalid_selector' ? /^([a-z_]+):/.exec(message)?.[1] : undefined
  return list === undefined ? fieldOfCode(code) : `selector.${list}`
}

/** Of two gates with one id the second is the problem. */
function gateIndex({ gates }: JsonObject, id: string, code: string): number {
  const ids = Array.isArray(gates)
    ? (gates as readonly JsonValue[]).map((gate) => isObject(gate) && gate['gate_id'])
    : []
  return Math.max(0, code === 'duplicate_gate_id' ? ids.lastIndexOf(id) : ids.indexOf(id))
}

/** Whether a problem belongs to a member, or to a part of it that has no field. */
export function isAbout(field: string | undefined, path: string): boolean {
  return field === path || field?.startsWith(`${path}[`) === true || field?.startsWith(`${path}.`) === true
}
