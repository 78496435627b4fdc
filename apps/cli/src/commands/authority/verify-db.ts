import type { CommandContext, Result } from '../../context.ts'
import type { Arguments, Options } from '../../options.ts'
import { toStartArguments } from './start.ts'

/** authority verify-db: looks at every record of the authority's database and changes nothing. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  return { exitCode: await commands.verifyDatabase(toStartArguments(context, options)) }
}
