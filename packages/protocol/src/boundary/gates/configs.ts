import type { Read } from '../../reading/read.ts'
import { type Schema, schemaOf } from '../../reading/schema.ts'
import { attestationClaimConfig } from './attestation-claim.ts'
import { booleanRequiredConfig } from './boolean-required.ts'
import { cedarConfig } from './cedar.ts'
import { externalFactConfig } from './external-fact.ts'
import { listConfig } from './listed.ts'
import { maxValueConfig } from './max-value.ts'
import { minValueConfig } from './min-value.ts'
import { requiredParameterConfig } from './required-parameter.ts'
import { scopeMembershipConfig } from './scope-membership.ts'
import { timeWindowConfig } from './time-window.ts'

const CONFIGS: readonly (readonly [gateType: string, config: Read<unknown>])[] = [
  ['allowlist.v1', listConfig],
  ['attestation_claim.v1', attestationClaimConfig],
  ['boolean_required.v1', booleanRequiredConfig],
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
