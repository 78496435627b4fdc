import type { CommandContext, Result } from '../../context.ts'
import { connectAsNode } from '../../node-home.ts'
import type { Arguments, Options } from '../../options.ts'

/** agent withdraw: only the key itself can take its agent out. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsNode(context, options)
  await connection.ask((client) => client.agents.remove())
  const key = connection.signer.publicKey
  return {
    data: { node_public_key: key, withdrawn: true },
    text: `${context.style.good('Withdrawn:')} the agent of ${key}.`,
  }
}
