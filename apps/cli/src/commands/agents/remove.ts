import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { connectAsNode } from '../../connection/node-folder.ts'
import type { Arguments, Options } from '../../arguments/options.ts'

/** Runs `agent remove`: only the node key can remove its agent. */
export async function runAgentRemove(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsNode(context, options)
  await connection.ask((client) => client.agents.remove())
  const key = connection.signer.publicKey
  return {
    data: { node_public_key: key, withdrawn: true },
    ids: [key],
    text: `${context.style.good('Removed')} the agent of ${key}.`,
  }
}
