import type { BoundaryDecision } from '@chancery/protocol'
import { expect, it } from 'vitest'
import { denialCode } from './denial-code.ts'

const decision = (denial_reason: string | null): BoundaryDecision =>
  ({ authorized: denial_reason === null, denial_reason }) as BoundaryDecision

it.each([
  [null, undefined],
  ['capability out of scope', 'capability_out_of_scope'],
  ['outside validity window', 'outside_validity_window'],
  ['insufficient freshness', 'insufficient_freshness'],
  ['policy resolution failed: policy_expired', 'policy_resolution_failed'],
  ["policy gate 'limits/max' failed (+2 more)", 'policy_gate_failed'],
  ['attestation_revoked', 'attestation_revoked'],
  ['treaty_not_yet_valid', 'treaty_not_yet_valid'],
  ['of a newer authority', 'unknown_reason'],
])('the denial reason %j has the code %s', (reason, code) => {
  expect(denialCode(decision(reason))).toBe(code)
})
