import type { BoundaryDecision } from '@chancery/protocol'

/** The signed texts of the protocol that are no codes (protocol/trust-operations 4.2 and 5.7), by how they begin. */
const TEXTS = [
  ['capability out of scope', 'capability_out_of_scope'],
  ['outside validity window', 'outside_validity_window'],
  ['insufficient freshness', 'insufficient_freshness'],
  ['policy resolution failed: ', 'policy_resolution_failed'],
  ["policy gate '", 'policy_gate_failed'],
] as const

/** The others are codes already (protocol/trust-operations 4.4 and 4.12). */
const CODES = [
  'attestation_not_found',
  'attestation_invalid',
  'attestation_revoked',
  'attestation_expired',
  'attestation_not_yet_valid',
  'attestation_subject_mismatch',
  'attestation_role_not_allowed',
  'treaty_not_found',
  'treaty_revoked',
  'treaty_expired',
  'treaty_not_yet_valid',
] as const

/** Why a decision denies. `unknown_reason`: a newer authority has a reason that this version does not know. */
export type DenialCode = (typeof TEXTS)[number][1] | (typeof CODES)[number] | 'unknown_reason'

/**
 * Returns why a decision denies, as a code for programs; undefined when it allows. `denial_reason` is signed and mixes codes
 * and texts, so it stays as it is.
 */
export function denialCode({ authorized, denial_reason }: BoundaryDecision): DenialCode | undefined {
  if (authorized) return undefined
  const reason = denial_reason ?? ''
  const text = TEXTS.find(([start]) => reason.startsWith(start))
  return text?.[1] ?? CODES.find((code) => code === reason) ?? 'unknown_reason'
}
