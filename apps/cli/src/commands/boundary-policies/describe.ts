import { type BoundaryPolicy, visible } from '@chancery/protocol'
import type { PolicySimulation } from '@chancery/sdk'
import type { Style } from '../../output/style.ts'
import { fields } from '../../output/table.ts'
import { plural } from '../../output/plural.ts'

export function describePolicy(policy: BoundaryPolicy, style: Style): string {
  return fields(
    [
      ['policy', `${policy.policy_id} version ${policy.version}`],
      ['description', policy.description === '' ? '-' : policy.description],
      ['valid', `${policy.valid_from} to ${policy.valid_until}`],
      ...policy.gates
        .toSorted((a, b) => a.order - b.order)
        .map(({ gate_id, gate_type, mode }) => [gate_id, `${gate_type}, ${mode}`] as const),
    ],
    style,
  )
}

/** Returns the effect of a policy as text. */
export function describeSimulation(simulation: PolicySimulation): readonly string[] {
  const { total, newly_allowed, newly_denied, unchanged, sample, candidate_set_healthy } = simulation
  const { external_facts_missing: missing } = simulation
  const lines = [
    `Of ${plural(total, 'request')}: ${newly_denied} newly denied, ${newly_allowed} newly allowed, ${unchanged} as now.`,
    ...sample.map(
      ({ index, change, candidate }) =>
        `  request ${index + 1}: ${change === 'newly_denied' ? 'newly denied' : 'newly allowed'}${
          candidate.denial_reason === null ? '' : `, ${visible(candidate.denial_reason)}`
        }`,
    ),
  ]
  const left = newly_allowed + newly_denied - sample.length
  if (left > 0) lines.push(`  and ${left} more`)
  if (missing > 0) lines.push(`For ${plural(missing, 'request')} an external fact is not known; its gate denies.`)
  if (!candidate_set_healthy) lines.push('With it in force the active set would be unhealthy and deny everything.')
  return lines
}
