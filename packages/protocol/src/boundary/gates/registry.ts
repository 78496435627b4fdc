import { allowlist } from './allowlist.ts'
import { attestationClaim } from './attestation-claim.ts'
import { booleanRequired } from './boolean-required.ts'
import { cedar } from './cedar.ts'
import { denylist } from './denylist.ts'
import { externalFact } from './external-fact.ts'
import type { GateType } from './gate.ts'
import { maxValue } from './max-value.ts'
import { minValue } from './min-value.ts'
import { requiredParameter } from './required-parameter.ts'
import { scopeMembership } from './scope-membership.ts'
import { timeWindow } from './time-window.ts'

/** What an engine can run, by name. Fixed when it starts (protocol/trust-operations 5.8). */
export type GateRegistry = ReadonlyMap<string, GateType>

/** A later release adds names; a released one never changes its meaning. */
export const GATE_TYPES: GateRegistry = new Map(
  [
    allowlist,
    attestationClaim,
    booleanRequired,
    cedar,
    denylist,
    externalFact,
    maxValue,
    minValue,
    requiredParameter,
    scopeMembership,
    timeWindow,
  ].map((type) => [type.name, type]),
)

/** Sorted by code point, as the active route lists them. */
export const GATE_TYPE_NAMES: readonly string[] = [...GATE_TYPES.keys()].sort()
