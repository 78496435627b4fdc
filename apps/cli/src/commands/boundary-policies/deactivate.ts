import { visible } from '@chancery/protocol'
import { requireConsent } from '../../prompts/confirm.ts'
import { missingRecord } from '../../prompts/missing-record.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { readVersion } from './version.ts'

/** Runs `boundary-policy deactivate`: it removes rules, so it asks first. */
export async function runBoundaryPolicyDeactivate(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const [id, version] = [args.required('policy_id'), readVersion(args)]
  const connection = await connectAsOperator(context, options)
  const question = `Take ${visible(id)} version ${version} out of force at ${connection.url}?`
  await requireConsent(context, options, question, async () => {
    const { versions } = await connection.ask((client) => client.boundaryPolicies.history(id, { limit: 1000 }))
    if (!versions.some((each) => each.version === version)) throw missingRecord('boundary_policy_not_found')
  })
  const done = await connection.ask((client) => client.boundaryPolicies.deactivate(id, { version }))
  return { data: done, ids: [id], text: `${context.style.good('Out of force:')} ${visible(id)} version ${version}.` }
}
