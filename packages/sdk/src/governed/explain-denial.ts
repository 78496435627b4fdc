import { meaningOf, member, visible, waitingApproval, writeJson } from '@chancery/protocol'
import type { BoundaryDecision, JustificationProof } from '@chancery/protocol'

/** A denial with its reasons. */
export interface DenialParts {
  readonly decision: BoundaryDecision
  readonly justification: JustificationProof
  readonly capability: string
}

/** Returns the reason, the id of the decision, and what would be needed, as one line. */
export function denialText(denied: DenialParts): string {
  const { decision } = denied
  const held = heldText(denied)
  if (held !== undefined) return visible(held)
  const rules = decision.gate_results.filter(({ passed }) => !passed).map(({ detail }) => detail)
  const rule = rules.length === 0 ? '' : ` (${rules.join('; ')})`
  const reason = decision.denial_reason ?? 'no reason given'
  // The texts come from an authority and go to a model or a terminal.
  return visible(`Denied: ${reason}${rule}. Decision ${decision.decision_id}. Needed: ${neededFor(denied)}.`)
}

/** For a call that waits for a person. The person is not the user of the model, so nothing is asked here. */
function heldText({ justification, capability }: DenialParts): string | undefined {
  const waitsFor = waitingApproval(justification)
  if (waitsFor === undefined) return undefined
  const { approval_id, state, expires_at, use_until } = waitsFor
  const next = 'Then call again with the same arguments.'
  if (state === 'approved')
    return `Approved, not done yet: approval ${approval_id} of ${capability}, until ${use_until ?? '-'}. ${next}`
  return `Held, not done: a person must approve ${capability} first. Approval ${approval_id}, until ${expires_at ?? '-'}. ${next}`
}

function neededFor(denied: DenialParts): string {
  const { decision, capability } = denied
  switch (meaningOf(decision)) {
    case 'unauthorized_capability_out_of_scope':
      return capabilityNeeds(denied)
    case 'unauthorized_attestation_basis':
      return 'a valid attestation of the caller, which an operator issues'
    case 'unauthorized_policy_gate_failure':
      return policyNeeds(denied)
    default:
      return `a decision of ${decision.operator_sovereign_id} that allows ${capability}; ask an operator there`
  }
}

/** Names the treaty when a partner attests the capability to its member and the treaty does not grant it. */
function capabilityNeeds({ decision, justification, capability }: DenialParts): string {
  const { inputs = {} } = justification.trace.entries.find(({ gate_name }) => gate_name === 'capability_check') ?? {}
  const attested = member(inputs, 'capabilities')
  const isPartner = member(inputs, 'treaty_capabilities') !== undefined
  if (isPartner && Array.isArray(attested) && attested.includes(capability))
    return `a treaty of ${decision.operator_sovereign_id} that grants ${capability} to the network of the caller, which an operator there signs`
  return `an attestation of the caller with the capability ${capability}, which an operator issues`
}

/** Names missing facts, or the rules that other arguments would have to meet. */
function policyNeeds(denied: DenialParts): string {
  const failed = failedGates(denied)
  const missing = failed.filter(({ outcome }) => outcome === 'missing_context')
  if (missing.length > 0) return `a value for ${missing.map(({ path }) => path).join(', ')}`
  const rules = failed.map(({ path, condition }) => `${path} with ${condition}`)
  return `${rules.join(' and ')}, or a change of the policy by an operator`
}

const ARGUMENT = /^request_parameters\.([A-Za-z0-9_-]{1,64})$/

/** Returns the parameters that policies need and did not get; none when it is also denied for another reason. */
export function missingParameters(denied: DenialParts): readonly string[] {
  if (meaningOf(denied.decision) !== 'unauthorized_policy_gate_failure') return []
  const names = failedGates(denied).map(({ outcome, path }) =>
    outcome === 'missing_context' ? ARGUMENT.exec(path)?.[1] : undefined,
  )
  return names.every((name) => name !== undefined) ? [...new Set(names)] : []
}

type FailedGate = { readonly outcome: string; readonly path: string; readonly condition: string }

function failedGates({ decision, justification }: DenialParts): readonly FailedGate[] {
  return (decision.policy_binding?.gate_evaluations ?? [])
    .filter(({ mode, passed }) => mode === 'enforce' && !passed)
    .map((gate) => ({ outcome: gate.outcome, ...ruleOf(justification, `${gate.policy_id}/${gate.gate_id}`) }))
}

function ruleOf({ trace }: JustificationProof, gate: string): { readonly path: string; readonly condition: string } {
  const { inputs = {} } = trace.entries.find(({ gate_name }) => gate_name === gate) ?? {}
  const [path, condition] = [member(inputs, 'path'), member(inputs, 'condition')]
  return {
    path: typeof path === 'string' && path !== '' ? path : gate,
    condition: condition === undefined ? 'another value' : writeJson(condition),
  }
}
