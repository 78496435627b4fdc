import { createHash } from 'node:crypto'
import { FloatNumber, type ForeignObject, type ForeignValue, canonicalText } from '@chancery/testkit'

/**
 * Second implementation of boundary policies: written from protocol/trust-operations 5 with plain loops and fractions,
 * without code of the product. It has no optimisation.
 */

export interface ReferenceGate {
  readonly gate_id: string
  readonly gate_type: string
  readonly order: number
  readonly mode: string
  readonly config: ForeignObject
}

export interface ReferencePolicy {
  readonly record: ForeignObject
  readonly policy_id: string
  readonly version: number
  readonly gates: readonly ReferenceGate[]
  readonly selector: ForeignObject
  /** Microseconds. */
  readonly from: bigint
  readonly until: bigint
  /** Result of the check of its row. */
  readonly problem: string | undefined
}

export interface ReferenceQuestion {
  readonly policies: readonly ReferencePolicy[]
  readonly context: ForeignObject
  readonly attestation: ForeignObject | undefined
  readonly terms: { readonly capabilities: readonly string[]; readonly commitment: number }
  readonly now: bigint
}

/** Returns one line for each result that must agree. */
export function decideByReference(question: ReferenceQuestion): readonly string[] {
  const { context, now } = question
  const builtIn = builtInSteps(question)
  const failed = builtIn.find(([, passed]) => !passed)
  const failure = resolutionFailure(question.policies, now)
  const applied = failure === undefined ? sorted(question.policies).filter((each) => isApplied(each, question)) : []
  const lines = builtIn.map(([name, passed]) => `step ${name} ${passed}`)
  const denying: string[] = []
  const outcomes: string[] = []
  if (failure !== undefined) lines.push('step policy_resolution false')
  if (failure === undefined && failed === undefined) {
    for (const policy of applied) {
      for (const gate of [...policy.gates].sort((a, b) => a.order - b.order)) {
        const name = `${policy.policy_id}/${gate.gate_id}`
        const outcome = runGate(gate, question)
        lines.push(`step ${name} ${outcome === 'pass'}`)
        outcomes.push(
          `gate ${policy.policy_id}@${policy.version} ${gate.gate_id} ${gate.order} ${gate.mode} ${outcome}`,
        )
        if (outcome !== 'pass' && gate.mode === 'enforce') denying.push(name)
      }
    }
  }
  const reason = denialReason(failed, failure, denying)
  const digests = applied.map(
    (each) => [each.policy_id, each.version, digestOf(withoutSignature(each.record))] as const,
  )
  const types = new Set(applied.flatMap((each) => each.gates.map((gate) => gate.gate_type)))
  return [
    `authorized ${reason === undefined}`,
    `reason ${reason ?? 'none'}`,
    ...lines,
    ...outcomes,
    `resolution ${failure ?? 'resolved'}`,
    `policies ${digests.map((each) => each.join(' ')).join(', ')}`,
    `set ${digestOf(digests.map((each) => [...each]))}`,
    `context ${digestOf(context)}`,
    `types ${[...types].sort().join()}`,
  ]
}

type Step = [name: string, passed: boolean, reason: string]

/** The gates before the policies; the time window always passes here. */
function builtInSteps({ context, attestation, terms }: ReferenceQuestion): Step[] {
  const wanted = textOf(context, 'requested_capability')
  const claims = attestation?.['claims']
  const claimed = isObject(claims) ? own(claims, 'capabilities') : undefined
  const isList = Array.isArray(claimed) && claimed.every((each) => typeof each === 'string')
  const granted: readonly unknown[] = attestation === undefined ? terms.capabilities : isList ? claimed : []
  const steps: Step[] =
    attestation === undefined
      ? []
      : [
          ['attestation_status', true, ''],
          ['attestation_validity', true, ''],
        ]
  const capable: Step = ['capability_check', granted.includes(wanted), 'capability out of scope']
  if (!capable[1]) return [...steps, capable]
  const sequence = Number(context['context_freshness_seq'])
  const fresh: Step = [
    'freshness_check',
    sequence >= (attestation === undefined ? terms.commitment : 0),
    'insufficient freshness',
  ]
  if (attestation !== undefined) return [...steps, capable, fresh]
  return [capable, ['validity_window', true, ''], fresh]
}

function denialReason(
  failed: Step | undefined,
  failure: string | undefined,
  denying: readonly string[],
): string | undefined {
  if (failed !== undefined) return failed[2]
  if (failure !== undefined) return `policy resolution failed: ${failure}`
  if (denying.length === 0) return undefined
  return `policy gate '${denying[0]}' failed${denying.length > 1 ? ` (+${denying.length - 1} more)` : ''}`
}

function resolutionFailure(policies: readonly ReferencePolicy[], now: bigint): string | undefined {
  if (policies.some((each) => each.problem === 'policy_store_integrity_failed')) return 'policy_store_integrity_failed'
  const ids = policies.map((each) => each.policy_id)
  if (new Set(ids).size !== ids.length) return 'ambiguous_resolution'
  for (const each of sorted(policies)) if (each.problem !== undefined) return each.problem
  return policies.some((each) => now > each.until) ? 'policy_expired' : undefined
}

function sorted(policies: readonly ReferencePolicy[]): readonly ReferencePolicy[] {
  const key = (each: ReferencePolicy): string => `${each.policy_id}\u0000${String(each.version).padStart(20, '0')}`
  return [...policies].sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

function withoutSignature({ signature: _signature, ...rest }: ForeignObject): ForeignObject {
  return rest
}

function digestOf(value: ForeignValue): string {
  return createHash('sha256').update(canonicalText(value)).digest('hex')
}

function isApplied(policy: ReferencePolicy, question: ReferenceQuestion): boolean {
  if (policy.from > question.now) return false
  const { context } = question
  const named = (list: string, value: string): boolean => {
    const entries = policy.selector[list] as readonly string[]
    return entries.length === 0 || entries.includes(textOf(context, value))
  }
  const capabilities = policy.selector['capabilities'] as readonly string[]
  const wanted = textOf(context, 'requested_capability')
  const covered =
    capabilities.length === 0 ||
    capabilities.some((entry) =>
      entry.includes('*') ? wanted.indexOf(entry.replace('*', '')) === 0 : entry === wanted,
    )
  const parameters = Object.entries(policy.selector['parameter_equals'] as ForeignObject)
  return (
    covered &&
    named('requester_sovereign_ids', 'requester_sovereign_id') &&
    named('provider_sovereign_ids', 'provider_sovereign_id') &&
    named('agreement_ids', 'agreement_id') &&
    named('parent_kinds', 'parent_kind') &&
    parameters.every(([path, values]) => {
      const fact = factAt(path, question)
      return (
        path !== 'requested_at' && fact !== undefined && (values as ForeignValue[]).some((each) => same(each, fact))
      )
    })
  )
}

/** Undefined when missing. */
function factAt(path: string, { context, attestation }: ReferenceQuestion): ForeignValue | undefined {
  const [root = '', ...steps] = path.split('.')
  let at: ForeignValue | undefined = root === 'attestation' ? attestation : own(context, root)
  for (const step of steps) at = isObject(at) ? own(at, step) : undefined
  return at
}

function own(object: ForeignObject, name: string): ForeignValue | undefined {
  return Object.getOwnPropertyDescriptor(object, name)?.value as ForeignValue | undefined
}

function textOf(object: ForeignObject, name: string): string {
  const value = object[name]
  return typeof value === 'string' ? value : ''
}

function isObject(value: ForeignValue | undefined): value is ForeignObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof FloatNumber)
}

function isSingle(value: ForeignValue): boolean {
  return (
    value === null || ['boolean', 'string', 'number', 'bigint'].includes(typeof value) || value instanceof FloatNumber
  )
}

type Fraction = readonly [numerator: bigint, denominator: bigint]

/** Returns the exact value of a number: a double is a whole number times a power of two. */
function fractionOf(value: ForeignValue): Fraction | undefined {
  if (typeof value === 'bigint') return [value, 1n]
  if (typeof value === 'number') return [BigInt(value), 1n]
  if (!(value instanceof FloatNumber)) return undefined
  let [number, denominator] = [value.value, 1n]
  while (!Number.isInteger(number)) [number, denominator] = [number * 2, denominator * 2n]
  return [BigInt(number), denominator]
}

function difference([a, b]: Fraction, [c, d]: Fraction): bigint {
  return a * d - c * b
}

function same(a: ForeignValue, b: ForeignValue): boolean {
  if (!isSingle(a) || !isSingle(b)) return false
  const [left, right] = [fractionOf(a), fractionOf(b)]
  if (left !== undefined || right !== undefined)
    return left !== undefined && right !== undefined && difference(left, right) === 0n
  return a === b
}

function runGate(gate: ReferenceGate, question: ReferenceQuestion): string {
  const { config } = gate
  if (gate.gate_type === 'time_window.v1') return timeWindow(config, question.now)
  const path = textOf(config, 'path')
  const fact = factAt(path, question)
  const single = fact !== undefined && isSingle(fact) && path !== 'requested_at'
  const absent = fact === undefined || fact === null
  switch (gate.gate_type) {
    case 'required_parameter.v1':
      return absent ? 'missing_context' : 'pass'
    case 'max_value.v1':
      return bound(fact, config['max'] ?? null, config['inclusive'] !== false, 1n)
    case 'min_value.v1':
      return bound(fact, config['min'] ?? null, config['inclusive'] !== false, -1n)
    case 'allowlist.v1':
    case 'denylist.v1': {
      if (fact === undefined) return 'missing_context'
      if (!single) return 'invalid_context'
      const listed = (config['values'] as ForeignValue[]).some((each) => same(each, fact))
      return listed === (gate.gate_type === 'allowlist.v1') ? 'pass' : 'fail'
    }
    case 'boolean_required.v1':
      if (absent) return 'missing_context'
      if (fact !== true && fact !== false) return 'invalid_context'
      return fact === (config['expected'] ?? true) ? 'pass' : 'fail'
    case 'scope_membership.v1':
      if (absent) return 'missing_context'
      if (!Array.isArray(fact) || fact.some((each) => typeof each !== 'string')) return 'invalid_context'
      return fact.every((each) => (config['allowed'] as ForeignValue[]).includes(each as string)) ? 'pass' : 'fail'
    default:
      return attestationClaim(config, fact, single, question.attestation)
  }
}

function bound(fact: ForeignValue | undefined, limit: ForeignValue, inclusive: boolean, sign: bigint): string {
  if (fact === undefined || fact === null) return 'missing_context'
  const [value, edge] = [fractionOf(fact), fractionOf(limit)]
  if (value === undefined || edge === undefined) return 'invalid_context'
  const beyond = difference(value, edge) * sign
  return beyond < 0n || (beyond === 0n && inclusive) ? 'pass' : 'fail'
}

function attestationClaim(
  config: ForeignObject,
  fact: ForeignValue | undefined,
  single: boolean,
  attestation: ForeignObject | undefined,
): string {
  const claims = attestation?.['claims']
  const claim = isObject(claims) ? own(claims, textOf(config, 'claim')) : undefined
  if (claim === undefined) return 'missing_context'
  if (!Array.isArray(claim) || !(claim as ForeignValue[]).every(isSingle)) return 'invalid_context'
  if (fact === undefined || fact === null) return 'missing_context'
  if (!single) return 'invalid_context'
  return (claim as ForeignValue[]).some((each) => same(each, fact)) ? 'pass' : 'fail'
}

/** Uses the calendar of the platform, which the product does not use. */
function timeWindow(config: ForeignObject, now: bigint): string {
  const date = new Date(Number(now / 1000n))
  const [weekday, hour] = [date.getUTCDay() === 0 ? 7 : date.getUTCDay(), date.getUTCHours()]
  const micros = (name: string): bigint => BigInt(Date.parse(textOf(config, name))) * 1000n
  if (config['not_before'] !== undefined && now < micros('not_before')) return 'fail'
  if (config['not_after'] !== undefined && now > micros('not_after')) return 'fail'
  if (config['weekdays'] !== undefined && !(config['weekdays'] as number[]).includes(weekday)) return 'fail'
  const [start, end] = [config['utc_hour_start'], config['utc_hour_end']]
  return start !== undefined && (hour < Number(start) || hour >= Number(end)) ? 'fail' : 'pass'
}
