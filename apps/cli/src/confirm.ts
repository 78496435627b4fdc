import type { CommandContext } from './context.ts'
import { Failure, misuse } from './failure.ts'
import type { Options } from './options.ts'

/** Stops a command that will need a yes where nobody can give one, before anything is fetched for the question. */
export function requireAskable(context: CommandContext, options: Options): void {
  if (options.isSet('yes') || context.isInteractive) return
  throw misuse('This needs a confirmation, and nobody can be asked here.', 'Add --yes to confirm it.')
}

/** Lets a command go on only after a yes: --yes, or a person at a terminal. Silence is never consent. */
export async function requireConsent(context: CommandContext, options: Options, question: string): Promise<void> {
  requireAskable(context, options)
  if (options.isSet('yes')) return
  if (!(await context.prompts.confirm(question))) {
    throw new Failure({ code: 'cancelled', message: 'Cancelled; nothing was changed.' })
  }
}
