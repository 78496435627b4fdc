import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { toStartArguments } from './start.ts'

/** authority public-key: the public half of the key that the settings name, wherever it lives. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  return { exitCode: await commands.publicKey(toStartArguments(context, options)) }
}
