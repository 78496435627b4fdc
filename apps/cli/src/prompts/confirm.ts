import type { CommandContext } from '../context.ts'
import { CommandError, usageError } from '../errors/failure.ts'
import type { Options } from '../arguments/options.ts'

function requireInteractive(context: CommandContext, options: Options): void {
  if (options.isSet('yes') || context.isInteractive) return
  throw usageError('This command needs confirmation. The terminal is not interactive; add --yes.')
}

/**
 * Continues only after confirmation: --yes, or an answer at a terminal. `find` throws if the record of the question does
 * not exist, because a person should not confirm something that cannot be done. With --yes the authority says so.
 */
export async function requireConsent(
  context: CommandContext,
  options: Options,
  question: string,
  find: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  if (!options.isSet('yes')) await find()
  requireInteractive(context, options)
  if (options.isSet('yes')) return
  if (!(await context.prompts.confirm(question))) {
    throw new CommandError({ code: 'cancelled', message: 'Cancelled; nothing was changed.' })
  }
}
