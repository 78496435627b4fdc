import { BOUNDARY_POLICY_FORM, visible } from '@chancery/protocol'
import type { BoundaryPolicyRow } from '@chancery/sdk/authority'
import { connect, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, table } from '../../output/screen.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadRecord, recordKind } from '../../files/json-file.ts'
import { loadPublicKeys } from '../../files/keys.ts'

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

/** Runs `boundary-policy history`: with --json it includes the signed bodies. */
export async function runBoundaryPolicyHistory(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const connection = await connectAsOperator(context, options)
  const { policy_id, versions } = await connection.ask((client) =>
    client.boundaryPolicies.history(args.required('policy_id'), { limit: 1000 }),
  )
  return { data: { policy_id, versions }, ids: versions.map(idOf), text: describeVersions(versions, context) }
}

const POLICY = recordKind('a boundary policy', 'policy', BOUNDARY_POLICY_FORM)

/** Runs `boundary-policy verify`; the exit code is 1 when the policy is not valid. */
export async function runBoundaryPolicyVerify(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const { cwd, style } = context
  const { wire: policy } = await loadRecord(cwd, args.required('file'), POLICY)
  const keys = await loadPublicKeys(cwd, options, 'issuer-key')
  const connection = await connect(context, options)
  const named = keys === undefined ? {} : { issuer_public_keys: keys }
  const verdict = await connection.ask((client) => client.boundaryPolicies.verify({ policy, ...named }))
  const title = verdict.valid ? style.good('Valid:') : style.bad(`Not valid (${visible(verdict.reason)}):`)
  const text = `${title} ${visible(verdict.policy_id)} version ${verdict.version}, digest ${visible(verdict.policy_digest)}`
  return { data: verdict, text, exitCode: verdict.valid ? 0 : 1 }
}
