import { visible } from '@chancery/protocol'
import type { BoundaryPolicyRow } from '@chancery/sdk'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { table } from '../../output/table.ts'

/** Runs `boundary-policy list`: stored versions, active versions, and whether the set is valid for decisions. */
export async function runBoundaryPolicyList(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { style } = context
  const connection = await connectAsOperator(context, options)
  const { policies, next_cursor } = await connection.ask((client) => client.boundaryPolicies.list({ limit: 1000 }))
  const active = await connection.ask((client) => client.boundaryPolicies.active())
  const { enforcement, policy_set_healthy, problems } = active
  const data = { enforcement, policy_set_healthy, problems, policies, is_cut: next_cursor !== null }
  const health = policy_set_healthy
    ? style.good('The active set is healthy.')
    : style.bad('The active set is unhealthy: every evaluation is denied.')
  const reasons = problems.map(({ policy, reason }) => `  ${visible(policy)}: ${visible(reason)}`)
  const rows = policies.length === 0 ? 'No boundary policy.' : describeVersions(policies, context)
  return {
    data,
    ids: policies.map(idOf),
    text: [rows, '', `${health} Enforcement: ${visible(enforcement)}.`, ...reasons].join('\n'),
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
