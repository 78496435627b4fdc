import { type BoundaryPolicy, findPolicyWarnings, visible } from '@chancery/protocol'
import type { PolicySimulation } from '@chancery/sdk/authority'
import { type Result, type Style, fields, plural } from '../../output/screen.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { chooseRequests, loadCedarTexts, loadIntent, nameTexts } from './cedar.ts'
import { shellWord } from '../../output/shell-word.ts'
import { saveRecord } from '../../files/json-file.ts'

function describePolicy(policy: BoundaryPolicy, style: Style): string {
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
  const { total, newly_allowed, newly_denied, newly_held, unchanged, sample, candidate_set_healthy } = simulation
  const { external_facts_missing: missing } = simulation
  const lines = [
    `Of ${plural(total, 'request')}: ${newly_denied} newly denied, ${newly_allowed} newly allowed, ${newly_held === 0 ? '' : `${newly_held} newly held, `}${unchanged} as now.`,
    ...sample.map(
      ({ index, change, candidate }) =>
        `  request ${index + 1}: ${change.replace('_', ' ')}${
          candidate.denial_reason === null ? '' : `, ${visible(candidate.denial_reason)}`
        }`,
    ),
  ]
  const left = newly_allowed + newly_denied + newly_held - sample.length
  if (left > 0) lines.push(`  and ${left} more`)
  if (missing > 0) lines.push(`For ${plural(missing, 'request')} an external fact is not known; its gate denies.`)
  if (!candidate_set_healthy) lines.push('With it in force the active set would be unhealthy and deny everything.')
  return lines
}

/** Runs `boundary-policy simulate`: changes nothing. */
export async function runBoundaryPolicySimulate(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const { cwd } = context
  const intent = nameTexts(await loadIntent(cwd, args.required('file')), await loadCedarTexts(cwd, options))
  const requests = await chooseRequests(cwd, options)
  if (requests === undefined) throw usageError('Give --contexts <file> or --decisions.')
  const connection = await connectAsOperator(context, options)
  const found = await connection.ask((client) => client.boundaryPolicies.simulate({ intent, ...requests }))
  return { data: found, text: describeSimulation(found).join('\n') }
}

/** Runs `boundary-policy publish`: signs and stores; the policy has no effect until it is activated. */
export async function runBoundaryPolicyPublish(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const { cwd, style } = context
  const intent = nameTexts(await loadIntent(cwd, args.required('file')), await loadCedarTexts(cwd, options))
  const connection = await connectAsOperator(context, options)
  const { record, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.boundaryPolicies.publish(intent)),
  )
  const { policy_id, version } = record
  const next = `Not in force yet: ${context.again(`chancery boundary-policy activate ${shellWord(policy_id)} ${version}`)}`
  const warnings = findPolicyWarnings(record).map(({ message }) => `\n${style.warn('Warning:')} ${visible(message)}`)
  const text = `${style.good('Published:')}\n${describePolicy(record, style)}${saved}${warnings.join('')}\n${next}`
  return { data: record, ids: [policy_id], text }
}
