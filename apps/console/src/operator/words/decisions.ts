import type { BoundaryDecision, ContextRecord, GateTraceEntry, JsonObject, JsonValue } from '@chancery/protocol'
import { plain } from '../../components/plain.ts'
import type { ShapeName, Tone } from '../parts/icons.ts'

/** Outcomes of entries, as states. An outcome without a word is shown as it is. */
const OUTCOMES: Readonly<Record<string, readonly [shape: ShapeName, tone: Tone, word: string]>> = {
  authorized: ['circle', 'good', 'Allowed'],
  denied: ['square', 'bad', 'Denied'],
  success: ['tick', 'good', 'Success'],
  partial: ['half', 'watch', 'Partial'],
  failure: ['square', 'bad', 'Failure'],
}

export interface OutcomeState {
  readonly shape: ShapeName
  readonly tone: Tone
  readonly word: string
}

export function outcomeState(outcome: string | null): OutcomeState {
  const [shape, tone, word] = OUTCOMES[outcome ?? ''] ?? ['dash', 'ended', outcome ?? 'none']
  return { shape, tone, word }
}

/** What each built-in gate checks. A gate without a sentence is shown by its name. */
export const BUILT_IN_GATES: Readonly<Record<string, string>> = {
  attestation_status: 'the attestation is stored, valid and not revoked',
  attestation_validity: 'the attestation is valid at this time',
  capability_check: 'the capability is granted',
  freshness_check: 'the caller has a recent revocation feed',
  freshness_proof: 'a proof shows a recent revocation feed',
  policy_resolution: 'the active policies can be applied',
  validity_window: 'the agreement is valid at this time',
}

/** The gates that did not pass, apart from gates that only observe. */
function deniedBy({ gate_results, policy_binding }: BoundaryDecision): BoundaryDecision['gate_results'] {
  const observed = new Set(
    (policy_binding?.gate_evaluations ?? [])
      .filter(({ mode }) => mode === 'observe')
      .map(({ policy_id, gate_id }) => `${policy_id}/${gate_id}`),
  )
  return gate_results.filter(({ gate_name, passed }) => !passed && !observed.has(gate_name))
}

/** Returns how many observed gates did not pass. */
export function observedFailures({ policy_binding }: BoundaryDecision): number {
  return (policy_binding?.gate_evaluations ?? []).filter(({ mode, passed }) => mode === 'observe' && !passed).length
}

/** Returns why a decision came out as it did, in one short sentence for a list. */
export function whyText(decision: BoundaryDecision): string {
  const [failed] = deniedBy(decision)
  if (failed !== undefined) return `${failed.gate_name}: ${reasonOf(failed.detail)}`
  if (!decision.authorized) return decision.denial_reason ?? 'no reason is given'
  const observed = observedFailures(decision)
  const count = decision.gate_results.length
  return observed === 0 ? `all ${count} gates passed` : `passed, ${observed} observed`
}

/** Details of built-in gates begin with a code. */
function reasonOf(detail: string): string {
  return detail.replace(/^[a-z]+(?:_[a-z]+)+: /, '')
}

/** Returns the parameters of a request in one line: amount = 1500. */
export function parametersText(parameters: JsonObject, most = Number.POSITIVE_INFINITY): string {
  const pairs = Object.entries(parameters)
  const shown = pairs.slice(0, most).map(([name, value]) => `${name} = ${valueText(value)}`)
  return shown.join(', ') + (pairs.length > most ? ', …' : '')
}

export function valueText(value: JsonValue | undefined): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : plain(value)
}

/** Returns a decision in two sentences: what was asked, and why this was the outcome. */
export function storyText(
  decision: BoundaryDecision,
  context: ContextRecord,
  trace: readonly GateTraceEntry[],
): string {
  const basis = context.parent_kind === 'attestation' ? 'The attestation' : 'The agreement'
  const applied = (decision.policy_binding?.policies ?? []).map(({ policy_id, version }) => `${policy_id} ${version}`)
  if (decision.authorized) {
    const rest = applied.length === 0 ? 'No policy applies.' : `Policy ${applied.join(', ')} allows it.`
    return `${basis} grants it. ${rest}`
  }
  const [failed] = deniedBy(decision)
  if (failed === undefined) return `It was denied: ${decision.denial_reason ?? 'no reason is given'}.`
  const entry = trace.find(({ gate_name }) => gate_name === failed.gate_name)
  const { policy_id, policy_version } = entry?.metadata ?? {}
  if (entry === undefined || policy_id === undefined)
    return `It was denied because ${failed.gate_name} did not pass: ${reasonOf(failed.detail)}.`
  return `${basis} grants it, but policy ${plain(policy_id)} version ${plain(policy_version)} ${limitText(entry)}.`
}

/** What a policy gate allows, as the end of a sentence that begins with the policy. */
function limitText({ gate_type, inputs, metadata, reason }: GateTraceEntry): string {
  const { outcome } = metadata
  const sentence = LIMITS[gate_type.replace(/\.v[0-9]+$/, '')]
  const isOwn = outcome !== undefined && outcome === SENTENCE_FOR[gate_type]
  if (sentence !== undefined && isOwn) return sentence('', inputs)
  if (asksOthers(gate_type) || Object.hasOwn(SENTENCE_FOR, gate_type)) return `does not allow it: ${reason}`
  const name = lastPart(plain(inputs['path']))
  if (outcome === 'missing_context') return `needs ${name}, which the request does not have`
  if (outcome !== 'fail') return `cannot check ${name}: ${reason}`
  const condition = objectOf(inputs['condition'])
  return sentence === undefined ? `does not allow ${name}: ${reason}` : sentence(name, condition)
}

/** Gates whose trace has digests and an answer in place of a path. */
const asksOthers = (gateType: string): boolean => /^(?:cedar|external_fact)\./.test(gateType)

/** Gates without a path, and the outcome that their sentence is about. Other outcomes have a reason. */
const SENTENCE_FOR: Readonly<Record<string, string>> = { 'approval.v1': 'pending', 'budget.v1': 'fail' }

type Limit = (name: string, condition: JsonObject) => string

const listText = (value: JsonValue | undefined): string =>
  Array.isArray(value) ? value.map(valueText).join(', ') : valueText(value)

const LIMITS: Readonly<Record<string, Limit>> = {
  allowlist: (name, { allowed }) => `allows ${name} only as one of: ${listText(allowed)}`,
  approval: () => 'needs an approval first',
  attestation_claim: (name, { claim }) => `needs ${name} in the claim ${valueText(claim)} of the attestation`,
  boolean_required: (name, { expected }) => `needs ${name} to be ${valueText(expected)}`,
  budget: (_, { remaining, limit }) => `has a budget with only ${plain(remaining)} of ${plain(limit)} left`,
  cedar: () => 'does not allow it by its Cedar rules',
  denylist: (name) => `refuses this value of ${name}`,
  external_fact: () => 'does not allow it by the answer of another system',
  max_value: (name, { max, operator }) => `allows ${name} ${operator === '<' ? 'below' : 'up to'} ${valueText(max)}`,
  min_value: (name, { min, operator }) =>
    `needs ${name} ${operator === '>' ? 'above' : 'of at least'} ${valueText(min)}`,
  required_parameter: (name) => `needs ${name}`,
  scope_membership: (name, { allowed }) => `allows in ${name} only: ${listText(allowed)}`,
  time_window: () => 'allows requests only at other times',
}
export const LIMIT_TYPES: readonly string[] = Object.keys(LIMITS)

/** Returns the rule that a gate checked, in one line. */
export function ruleText({ gate_name, gate_type, inputs }: GateTraceEntry): string {
  const { path, condition } = inputs
  if (asksOthers(gate_type)) return askedText(gate_type, inputs)
  if (inputs['budget_key'] !== undefined) return budgetText(inputs)
  if (gate_type === 'approval.v1') return `approval: ${plain(inputs['title'])}`
  if (path === undefined) return BUILT_IN_GATES[gate_name] ?? gate_type
  const { operator, max, min, allowed, denied, expected, claim } = objectOf(condition)
  const at = plain(path)
  if (operator !== undefined) return `${at} ${SIGNS[plain(operator)] ?? plain(operator)} ${valueText(max ?? min)}`
  if (allowed !== undefined) return `${at} is one of ${listText(allowed)}`
  if (denied !== undefined) return `${at} is none of ${listText(denied)}`
  if (expected !== undefined) return `${at} is ${valueText(expected)}`
  if (claim !== undefined) return `${at} is in the claim ${valueText(claim)}`
  return gate_type.startsWith('time_window') ? `${at} is in the window ${valueText(condition)}` : `${at} is present`
}

/** The rules or the source by name and digest, and what they answered. */
function askedText(gate_type: string, inputs: JsonObject): string {
  const { policy_set_digest, reason, failure, origin, question_digest, answer } = inputs
  if (gate_type.startsWith('cedar')) {
    const rules = Array.isArray(reason) && reason.length > 0 ? listText(reason) : plain(failure ?? 'none')
    return `Cedar rules ${plain(policy_set_digest).slice(0, 12)}: ${rules}`
  }
  const found = answer === undefined ? plain(failure ?? 'no answer') : valueText(answer)
  return `${plain(origin)}, question ${plain(question_digest).slice(0, 12)}: ${found}`
}

/** Of a policy or a treaty. Amounts are null where the budget does not apply or cannot be read. */
function budgetText({ limit, unit, window, asked, used_before }: JsonObject): string {
  if (typeof asked !== 'string' || typeof used_before !== 'string') return 'a budget'
  const most = `${plain(limit)}${typeof unit === 'string' ? ` ${unit}` : ''}`
  return `${used_before} used and ${asked} asked of ${most} in ${plain(objectOf(window)['name'])}`
}

const SIGNS: Readonly<Record<string, string>> = { '<=': '≤', '>=': '≥', '<': '<', '>': '>' }

export function objectOf(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}

const lastPart = (path: string): string => path.split('.').at(-1) ?? path

/** The kind of an entry in words. */
export function kindText(kind: string): string {
  return kind.replaceAll('_', ' ')
}
