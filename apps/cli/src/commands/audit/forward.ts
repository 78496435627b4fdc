import type { CommandContext, Result } from '../../context.ts'
import type { Arguments, Options } from '../../options.ts'
import { toStartArguments } from '../authority/start.ts'

/** audit forward: runs until it is told to stop. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const after = options.text('after')
  const { commands } = await import('@chancery/authority')
  const exitCode = await commands.auditForward({
    ...toStartArguments(context, options),
    ...(after === undefined ? {} : { after }),
    name: options.textOrDefault('name'),
    isOnce: options.isSet('once'),
    stop: context.stop(),
  })
  return { exitCode }
}
