import { visible } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import { requireConsent } from '../../prompts/confirm.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { checkSignature } from './check-signature.ts'
import { describePolicy } from './describe.ts'

/** Runs `network-policy rollback`: every node follows the active policy, so it asks first. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const policyId = args.required('policy_id')
  const connection = await connectAsOperator(context, options)
  await requireConsent(context, options, `Make ${visible(policyId)} the active policy at ${connection.url}?`)
  const manifest = await connection.ask((client) => client.policy.rollback(policyId))
  const signature = await checkSignature(connection, manifest)
  return {
    data: manifest,
    text: `${context.style.good('Active again:')}\n${describePolicy(manifest, signature, context.style)}`,
  }
}
