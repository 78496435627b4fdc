/** What each type of gate checks. A type without a sentence is shown by its name. */
export const GATE_WORDS: Readonly<Record<string, string>> = {
  allowlist: 'the value is one of the listed values',
  approval: 'a person approved the request',
  attestation_claim: 'the attestation has the claim with the expected value',
  boolean_required: 'the value is true',
  budget: 'many requests together stay within a limit',
  cedar: 'a Cedar policy set allows the request',
  denylist: 'the value is none of the listed values',
  external_fact: 'another system gives the expected answer',
  max_value: 'the value is at most the limit',
  min_value: 'the value is at least the limit',
  required_parameter: 'the request has the parameter',
  scope_membership: 'the requested scope is granted',
  time_window: 'the time is inside the window',
}

/** A released version of a type never changes its meaning, so one sentence serves all of them. */
export function gateText(type: string): string {
  const name = type.replace(/\.v[0-9]+$/, '')
  return Object.hasOwn(GATE_WORDS, name) ? (GATE_WORDS[name] ?? type) : type
}
