import type { CommandContext } from '../context.ts'
import { CommandError, usageError } from '../errors/failure.ts'
import type { Options } from '../arguments/options.ts'

/** Stops a command that needs confirmation on a terminal that is not interactive, before it makes calls. */
export function requireInteractive(context: CommandContext, options: Options): void {
  if (options.isSet('yes') || context.isInteractive) return
  throw usageError('This command needs confirmation. The terminal is not interactive; add --yes.')
}

/** Continues only after confirmation: --yes, or an answer at a terminal. */
export async function requireConsent(context: CommandContext, options: Options, question: string): Promise<void> {
  requireInteractive(context, options)
  if (options.isSet('yes')) return
  if (!(await context.prompts.confirm(question))) {
    throw new CommandError({ code: 'cancelled', message: 'Cancelled; nothing was changed.' })
  }
}
