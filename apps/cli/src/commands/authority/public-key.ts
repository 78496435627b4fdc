import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { toStartArguments } from './start.ts'

/** Runs `authority public-key`: prints the public key of the configured key provider. */
export async function runAuthorityPublicKey(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  return { exitCode: await commands.publicKey(toStartArguments(context, options)) }
}
