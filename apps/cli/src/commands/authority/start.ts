import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { flagName } from '../../arguments/options.ts'

/** authority start: loads the service only now, since no other command needs it, and runs it until it ends. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  return { exitCode: await commands.start(toStartArguments(context, options)) }
}

export interface StartArguments {
  readonly flags: Readonly<Record<string, string | readonly string[]>>
  readonly envFile?: string
}

/** Only what was written on the line: defaults must not overrule settings. Options of the program itself stay here. */
export function toStartArguments({ command }: Pick<CommandContext, 'command'>, options: Options): StartArguments {
  const own = new Set(command.options.map(({ flags }) => `--${flagName(flags)}`))
  const flags: Record<string, string | readonly string[]> = {}
  for (const [flag, value] of options.entries()) {
    if (own.has(flag) && flag !== '--env-file' && typeof value !== 'boolean') flags[flag] = value
  }
  const envFile = options.text('env-file')
  return envFile === undefined ? { flags } : { flags, envFile }
}
