import type { CommandContext } from './context.ts'
import { Failure, misuse } from './failure.ts'
import type { Options } from './options.ts'

/** Lets a command go on only after a yes: --yes, or a person at a terminal. Silence is never consent. */
export async function requireConsent(context: CommandContext, options: Options, question: string): Promise<void> {
  if (options.isSet('yes')) return
  if (!context.isInteractive)
    throw misuse('This needs a confirmation, and nobody can be asked here.', 'Add --yes to confirm it.')
  if (!(await context.prompts.confirm(question))) {
    throw new Failure({ code: 'cancelled', message: 'Cancelled; nothing was changed.' })
  }
}
