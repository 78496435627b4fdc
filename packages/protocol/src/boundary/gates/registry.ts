import { approval } from './approval.ts'
import { approvalConfig } from '../../approvals/approval-rule.ts'
import { attestationClaim, attestationClaimConfig } from './attestation-claim.ts'
import { budget } from './budget.ts'
import { booleanRequired, booleanRequiredConfig } from './boolean-required.ts'
import { cedar, cedarConfig } from './cedar.ts'
import { externalFact, externalFactConfig } from './external-fact.ts'
import { type GateType, MISSING, factPath, isAbsent, overFact, readConfig } from './gate.ts'
import { maxValue, maxValueConfig } from './bound.ts'
import { minValue, minValueConfig } from './min-value.ts'
import { checkListed, listConfig, scopeMembership, scopeMembershipConfig } from './listed.ts'
import { timeWindow, timeWindowConfig } from './time-window.ts'
import { budgetConfig } from '../../budgets/budget.ts'
import { type Read, type Schema, schemaOf } from '../../reading/schema.ts'
import { closed, required } from '../../reading/shape.ts'

/** The value must be none of those listed; leaving it out does not get around the list. */
const denylist: GateType = {
  name: 'denylist.v1',
  prepare(config) {
    const { path, values } = readConfig(listConfig, config)
    return overFact(path, { denied: values }, (fact) =>
      checkListed(fact, values, (isListed) =>
        isListed ? ['fail', 'the value is one of those denied'] : ['pass', 'the value is not denied'],
      ),
    )
  },
}

/** The value must be one of those listed. */
const allowlist: GateType = {
  name: 'allowlist.v1',
  prepare(config) {
    const { path, values } = readConfig(listConfig, config)
    return overFact(path, { allowed: values }, (fact) =>
      checkListed(fact, values, (isListed) =>
        isListed ? ['pass', 'the value is allowed'] : ['fail', 'the value is not one of those allowed'],
      ),
    )
  },
}

const shape = closed({ path: required(factPath) })
const requiredParameterConfig: Read<unknown> = shape

/** The fact must be there; false, 0 and empty values are there. */
const requiredParameter: GateType = {
  name: 'required_parameter.v1',
  prepare(config) {
    const { path } = readConfig(shape, config)
    return overFact(path, { required: path.text }, (fact) =>
      isAbsent(fact) ? MISSING : ['pass', 'the fact is present'],
    )
  },
}

/** What an engine can run, by name. Fixed when it starts (protocol/trust-operations 5.8). */
export type GateRegistry = ReadonlyMap<string, GateType>

/** A later release adds names; a released one never changes its meaning. */
export const GATE_TYPES: GateRegistry = new Map(
  [
    allowlist,
    approval,
    attestationClaim,
    booleanRequired,
    budget,
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

const CONFIGS: readonly (readonly [gateType: string, config: Read<unknown>])[] = [
  ['allowlist.v1', listConfig],
  ['approval.v1', approvalConfig],
  ['attestation_claim.v1', attestationClaimConfig],
  ['boolean_required.v1', booleanRequiredConfig],
  ['budget.v1', budgetConfig],
  ['cedar.v1', cedarConfig],
  ['denylist.v1', listConfig],
  ['external_fact.v1', externalFactConfig],
  ['max_value.v1', maxValueConfig],
  ['min_value.v1', minValueConfig],
  ['required_parameter.v1', requiredParameterConfig],
  ['scope_membership.v1', scopeMembershipConfig],
  ['time_window.v1', timeWindowConfig],
]

/** Returns the JSON Schema of the config of each gate type, for editors of policies. */
export function gateConfigSchemas(): ReadonlyMap<string, Schema> {
  return new Map(CONFIGS.map(([gateType, config]) => [gateType, schemaOf(config)]))
}
