import type { ResolutionFailure } from '@chancery/protocol'

/** Why the set in force denies every request, and what to do. The code is always shown with it. */
export const SET_PROBLEM_WORDS: Readonly<Record<ResolutionFailure, string>> = {
  policy_store_integrity_failed: 'Its stored text was changed. Deactivate it or publish it again.',
  ambiguous_resolution: 'Two versions of it are in force. Deactivate one of them.',
  gate_type_unavailable: 'It has a gate that this authority does not support. Publish a version without that gate.',
  policy_signature_invalid: 'Its signature is not valid. Publish it again.',
  policy_invalid: 'Its content does not validate. Publish a corrected version.',
  policy_expired: 'It has ended. Publish and activate a version with a later end, or deactivate it.',
  no_policy_applied: 'Policies are required, and none applied to the request. Activate one that covers it.',
}

export function setProblemText(reason: string): string {
  return Object.hasOwn(SET_PROBLEM_WORDS, reason) ? SET_PROBLEM_WORDS[reason as ResolutionFailure] : reason
}
