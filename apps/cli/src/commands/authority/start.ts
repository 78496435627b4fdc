import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { type Arguments, type Options, flagName } from '../../arguments/options.ts'
import { loadService } from '../../process.ts'

/** Runs `authority start`: loads the service only here, because no other command needs it. */
export async function runAuthorityStart(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await loadService(() => import('@chancery/authority'))
  return { exitCode: await commands.start(toStartArguments(context, options)) }
}

export interface StartArguments {
  readonly flags: Readonly<Record<string, string | readonly string[]>>
  readonly envFile?: string
}

/**
 * Passes only options of the command line, because defaults must not override settings. Global options are not passed.
 */
export function toStartArguments({ command }: Pick<CommandContext, 'command'>, options: Options): StartArguments {
  const own = new Set(command.options.map(({ flags }) => `--${flagName(flags)}`))
  const flags: Record<string, string | readonly string[]> = {}
  for (const [flag, value] of options.entries()) {
    if (own.has(flag) && flag !== '--env-file' && typeof value !== 'boolean') flags[flag] = value
  }
  const envFile = options.text('env-file')
  return envFile === undefined ? { flags } : { flags, envFile }
}
