import type { Arguments, Options } from '../../arguments/options.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import type { Result } from '../../output/result.ts'
import { Gate } from './gate.ts'
import { openHome, readTarget } from './home.ts'
import { guardStdio } from './stdio.ts'
import { ToolGuard } from './tool-guard.ts'

/** Runs `mcp guard` until the client or the server ends, or until it is stopped. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const target = readTarget(args.list('command'), options)
  const home = await openHome(context, options, target)
  const gate = await Gate.prepare({ ...home, context })
  const guard = new ToolGuard({ ...home, gate, note: context.note })
  try {
    if ('upstream' in target) throw usageError('--upstream is not supported yet.')
    const { code, isClientGone } = await guardStdio(context, guard, target.words)
    if (isClientGone || code === 0) return {}
    const message = `The server ended with code ${code}.`
    throw new CommandError({ code: 'server_ended', message, hint: 'Run its command alone to find out why.' })
  } finally {
    await gate.close()
  }
}
