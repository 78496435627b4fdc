import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments } from '../../arguments/options.ts'
import { readAll } from '../enrollment/token.ts'

/** Runs `gateway token new` and `gateway token digest`. */
export async function runGateway(context: CommandContext, _args: Arguments): Promise<Result> {
  const { commands } = await import('@chancery/gateway')
  if (context.command.path.at(-1) === 'new') return commands.newToken()
  return commands.tokenDigest((await readAll(context.stdin)).trim())
}
