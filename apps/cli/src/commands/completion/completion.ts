import { COMMANDS, GLOBAL_OPTIONS, PROGRAM_NAME } from '@chancery/contract'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { bashScript } from './bash.ts'
import { fishScript } from './fish.ts'
import { toEntries } from './entries.ts'
import { zshScript } from './zsh.ts'

const SCRIPTS: Readonly<Record<string, typeof bashScript>> = { bash: bashScript, zsh: zshScript, fish: fishScript }

/**
 * Runs `completion`: prints a script for one shell, made from the table of the commands. The script starts no program.
 */
export async function runCompletion(_context: CommandContext, args: Arguments, _options: Options): Promise<Result> {
  const shell = args.required('shell')
  const write = SCRIPTS[shell]
  if (write === undefined) throw new Error(`no script for ${shell}`)
  const script = write(PROGRAM_NAME, toEntries(COMMANDS, GLOBAL_OPTIONS))
  return { data: { shell, script }, text: script }
}
