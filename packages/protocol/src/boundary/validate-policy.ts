import { PARENT_KINDS } from '../artifacts/context-record.ts'
import type { BoundaryPolicyIntent, GateSpec, PolicySelector } from '../artifacts/boundary-policy.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { FormError } from '../reading/schema.ts'
import { UNKNOWN_MEMBER } from '../reading/shape.ts'
import { instantOf } from '../reading/text.ts'
import { readFactPath } from './facts.ts'
import type { ReadyGate } from './gates/gate.ts'
import { MAX_LISTED } from './gates/listed.ts'
import { GATE_TYPES, type GateRegistry } from './gates/registry.ts'
import { isCapabilityPattern } from './selector.ts'

const ISSUE_CODES = [
  'invalid_policy_id',
  'invalid_validity_window',
  'no_gates',
  'too_many_gates',
  'duplicate_gate_id',
  'duplicate_gate_order',
  'invalid_gate_id',
  'invalid_order',
  'invalid_gate_config',
  'unknown_gate_type',
  'invalid_selector',
  'invalid_fact_path',
] as const
export type IssueCode = (typeof ISSUE_CODES)[number]

/** Why a policy cannot be published. Messages hold rules and places, never input values. */
export type PolicyIssue = { readonly code: IssueCode; readonly message: string; readonly gate_id?: string }

const MAX_GATES = 64
const MAX_CONFIG_BYTES = 16_384
const POLICY_ID = /^[A-Za-z0-9._:-]{1,128}$/
const GATE_ID = /^[a-z0-9_-]{1,64}$/

export function isPolicyId(text: string): boolean {
  return POLICY_ID.test(text)
}

/**
 * The constraints every policy meets wherever it was made (protocol/trust-operations 5.1). Gate types and configs are
 * left out: another authority may know more of them.
 */
export function isWellFormed({ policy_id, gates }: BoundaryPolicyIntent): boolean {
  return (
    isPolicyId(policy_id) &&
    gates.length > 0 &&
    gates.length <= MAX_GATES &&
    gates.every((gate) => GATE_ID.test(gate.gate_id) && gate.order >= 0) &&
    new Set(gates.map((gate) => gate.gate_id)).size === gates.length &&
    new Set(gates.map((gate) => gate.order)).size === gates.length
  )
}

/**
 * Everything that is wrong with a policy whose types are right (protocol/trust-operations 5.3): rows of the policy,
 * then those of each gate in the order of the request, then those of the selector.
 */
export function findPolicyIssues(
  intent: BoundaryPolicyIntent,
  { windowHasOffsets = true, registry = GATE_TYPES }: { windowHasOffsets?: boolean; registry?: GateRegistry } = {},
): readonly PolicyIssue[] {
  return [
    ...policyIssues(intent, windowHasOffsets),
    ...gateIssues(intent.gates, registry),
    ...numberIssues(intent.gates),
    ...selectorIssues(intent.selector),
  ]
}

function policyIssues(intent: BoundaryPolicyIntent, windowHasOffsets: boolean): PolicyIssue[] {
  const found: PolicyIssue[] = []
  const { policy_id, valid_from, valid_until, gates } = intent
  if (!isPolicyId(policy_id))
    found.push({ code: 'invalid_policy_id', message: 'policy_id: 1 to 128 characters of A-Z a-z 0-9 . _ : -' })
  if (!windowHasOffsets)
    found.push({ code: 'invalid_validity_window', message: 'valid_from and valid_until need an offset or Z' })
  else if (instantOf(valid_from) >= instantOf(valid_until))
    found.push({ code: 'invalid_validity_window', message: 'valid_from must be earlier than valid_until' })
  if (gates.length === 0) found.push({ code: 'no_gates', message: 'at least one gate is needed' })
  if (gates.length > MAX_GATES) found.push({ code: 'too_many_gates', message: `at most ${MAX_GATES} gates` })
  return found
}

function gateIssues(gates: readonly GateSpec[], registry: GateRegistry): PolicyIssue[] {
  const [ids, orders] = [new Set<string>(), new Set<number>()]
  return gates.flatMap((gate) => {
    const found: { readonly code: IssueCode; readonly message: string }[] = []
    if (ids.has(gate.gate_id)) found.push({ code: 'duplicate_gate_id', message: 'gate_id is used before' })
    if (orders.has(gate.order)) found.push({ code: 'duplicate_gate_order', message: 'order is used before' })
    if (!GATE_ID.test(gate.gate_id))
      found.push({ code: 'invalid_gate_id', message: 'gate_id: 1 to 64 characters of a-z 0-9 _ -' })
    if (gate.order < 0) found.push({ code: 'invalid_order', message: 'order must not be negative' })
    found.push(...configIssues(gate, registry))
    ids.add(gate.gate_id)
    orders.add(gate.order)
    return found.map((issue) => ({ ...issue, gate_id: Array.from(gate.gate_id).slice(0, 128).join('') }))
  })
}

/** Each counter is locked while a decision is made, and each approval asks people. */
const MOST_OF_TYPE = [
  ['budget.v1', 8, 'budgets'],
  ['approval.v1', 4, 'approvals'],
] as const

function numberIssues(gates: readonly GateSpec[]): PolicyIssue[] {
  return MOST_OF_TYPE.flatMap(([type, most, name]) => {
    const extra = gates.filter(({ gate_type }) => gate_type === type).slice(most)
    const message = `at most ${most} ${name} in one policy`
    return extra.map(({ gate_id }) => ({ code: 'invalid_gate_config' as const, message, gate_id }))
  })
}

/** A config that is too large is not looked into. */
function configIssues(gate: GateSpec, registry: GateRegistry): { code: IssueCode; message: string }[] {
  if (canonicalJson(gate.config).length > MAX_CONFIG_BYTES)
    return [{ code: 'invalid_gate_config', message: `config is larger than ${MAX_CONFIG_BYTES} bytes` }]
  if (!registry.has(gate.gate_type)) return [{ code: 'unknown_gate_type', message: 'gate_type is not registered here' }]
  try {
    prepareGate(gate, registry)
    return []
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    return [{ code: 'invalid_gate_config', message: configMessage(error) }]
  }
}

/** The path is ours except for an unknown member, whose name is the caller's text. */
function configMessage({ field, problem }: FormError): string {
  return field === '' || problem === UNKNOWN_MEMBER ? `config: ${problem}` : `config.${field}: ${problem}`
}

/** The gate, ready to run. Throws {@link FormError} for a config its type refuses. */
export function prepareGate(gate: GateSpec, registry: GateRegistry): ReadyGate {
  const type = registry.get(gate.gate_type)
  if (type === undefined) throw new FormError('gate_type', 'is not registered here')
  return type.prepare(gate.config)
}

const ID_LISTS = ['requester_sovereign_ids', 'provider_sovereign_ids', 'agreement_ids'] as const

function selectorIssues(selector: PolicySelector): PolicyIssue[] {
  const found: PolicyIssue[] = []
  const refuse = (message: string): void => void found.push({ code: 'invalid_selector', message })
  if (!selector.capabilities.every(isCapabilityPattern))
    refuse('capabilities: an entry is empty or has * elsewhere than at its end after a dot')
  for (const name of ID_LISTS) if (selector[name].includes('')) refuse(`${name}: an entry is empty`)
  if (!selector.parent_kinds.every((kind) => PARENT_KINDS.some((known) => known === kind)))
    refuse('parent_kinds: an unknown kind')
  for (const [path, values] of Object.entries(selector.parameter_equals)) {
    if (!isFactPath(path)) found.push({ code: 'invalid_fact_path', message: 'parameter_equals: not a fact path' })
    if (values.length === 0 || values.length > MAX_LISTED) refuse(`parameter_equals: 1 to ${MAX_LISTED} values a path`)
  }
  return found
}

function isFactPath(text: string): boolean {
  try {
    readFactPath(text, '')
    return true
  } catch (error) {
    if (error instanceof FormError) return false
    throw error
  }
}
