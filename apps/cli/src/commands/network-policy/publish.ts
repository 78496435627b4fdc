import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { checkSignature } from './check-signature.ts'
import { describePolicy } from './describe.ts'

/** Runs `network-policy publish`: sends the file unchanged; the authority reads, signs and activates it. */
export async function runNetworkPolicyPublish(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const { style } = context
  const request = await loadJsonObject(context.cwd, args.required('file'))
  const connection = await connectAsOperator(context, options)
  const { manifest, created } = await connection.ask((client) => client.policy.publish(request))
  const signature = await checkSignature(connection, manifest)
  const title = created ? `${style.good('Published')} and active:` : 'This version was stored before; it is active:'
  return { data: manifest, ids: [manifest.policy_id], text: `${title}\n${describePolicy(manifest, signature, style)}` }
}
