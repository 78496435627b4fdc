import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeVersions, idOf } from './list.ts'

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
