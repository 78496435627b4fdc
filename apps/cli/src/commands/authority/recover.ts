import type { CommandContext, Result } from '../../context.ts'
import type { Arguments, Options } from '../../options.ts'
import { toStartArguments } from './start.ts'

/** authority recover: brings a restored database past its high-water mark, with the settings of the service. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  return { exitCode: await commands.recover(toStartArguments(context, options)) }
}
