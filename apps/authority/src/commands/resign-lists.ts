import type { Instant } from '@chancery/protocol'
import { NothingToRecoverError } from '../recovery/recover.ts'
import { ClockError, type ResignResult, resignLists as signAgain } from '../recovery/resign-lists.ts'
import { type CommandArguments, isOperatorError, readSettingsOrExplain } from './command-settings.ts'
import { withRecovery } from './with-recovery.ts'

export interface ResignArguments extends CommandArguments {
  /** The present time, as another clock shows it. */
  readonly now: Instant
}

/** Signs list and feed again that a wrong clock dated in the future. */
export async function resignLists(args: ResignArguments): Promise<number> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return 1
  try {
    const signed = await withRecovery(settings, (parts) => signAgain(parts, args.now))
    process.stdout.write(`${linesOf(signed).join('\n')}\n`)
    return 0
  } catch (error) {
    const isKnown = error instanceof NothingToRecoverError || error instanceof ClockError
    if (!(error instanceof Error) || (!isOperatorError(error) && !isKnown)) throw error
    process.stderr.write(`chancery: nothing was recovered: ${error.message}\n`)
    return 1
  }
}

function linesOf({ crlSequence, feedSequence }: ResignResult): readonly string[] {
  return [
    ...(crlSequence === undefined ? [] : [`revocation list ${crlSequence} is dated by this clock`]),
    ...(feedSequence === undefined ? [] : [`feed ${feedSequence} is dated by this clock`]),
    'verifiers that refused the ones dated ahead accept these; those stay in the record',
  ]
}
