import { visible } from '@chancery/protocol'
import type { BoundaryPolicyRow } from '@chancery/sdk/authority'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, table } from '../../output/screen.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { usageError } from '../../errors/failure.ts'
import { showLicense } from '../data-usage/data-usage.ts'
import { describeNetworkVersions, showNetworkPolicy } from '../network-policy/network-policy.ts'
import { showRecognition } from '../recognition-policy/publish.ts'

/** Runs `policy list`: stored versions, active versions, and whether the set is valid for decisions. */
export async function runPolicyList(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const connection = await connectAsOperator(context, options)
  const { policies, next_cursor } = await connection.ask((client) => client.boundaryPolicies.list({ limit: 1000 }))
  const active = await connection.ask((client) => client.boundaryPolicies.active())
  const { enforcement, policy_set_healthy, problems } = active
  const network = await describeNetworkVersions(context, connection)
  const data = {
    network_policies: network.versions,
    enforcement,
    policy_set_healthy,
    problems,
    policies,
    is_cut: next_cursor !== null,
  }
  const health = policy_set_healthy
    ? style.good('The active set is healthy.')
    : style.bad('The active set is unhealthy: every evaluation is denied.')
  const reasons = problems.map(({ policy, reason }) => `  ${visible(policy)}: ${visible(reason)}`)
  const rows = policies.length === 0 ? 'No boundary policy.' : describeVersions(policies, context)
  return {
    data,
    ids: policies.map(idOf),
    text: [rows, '', `${health} Enforcement: ${visible(enforcement)}.`, ...reasons, '', network.text].join('\n'),
  }
}

export function idOf({ policy_id, version }: BoundaryPolicyRow): string {
  return `${policy_id} ${version}`
}

export function describeVersions(rows: readonly BoundaryPolicyRow[], { style }: CommandContext): string {
  const lines = rows.map((row) => [
    row.policy_id,
    String(row.version),
    row.active ? 'active' : '-',
    row.integrity_ok ? String(row.gate_count ?? '-') : 'changed in the store',
    row.valid_until ?? '-',
  ])
  return table(['POLICY', 'VERSION', 'STATE', 'GATES', 'UNTIL'], lines, style)
}

/** Runs `policy show`: the versions of a boundary policy, or the policy of another kind. */
export async function runPolicyShow(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const policy = args.required('policy')
  if (options.isSet('licensee') && policy !== 'license') throw usageError('--licensee is for policy show license.')
  if (policy === 'network') return showNetworkPolicy(context, options)
  if (policy === 'recognition') return showRecognition(context, options)
  if (policy === 'license') return showLicense(context, options)
  const connection = await connectAsOperator(context, options)
  const { policy_id, versions } = await connection.ask((client) =>
    client.boundaryPolicies.history(policy, { limit: 1000 }),
  )
  return { data: { policy_id, versions }, ids: versions.map(idOf), text: describeVersions(versions, context) }
}
