import { visible } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { CommandError } from '../../errors/failure.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { withProgress } from '../../output/progress.ts'
import { toStartArguments } from './start.ts'
import { plural } from '../../output/plural.ts'

/** Runs `authority verify-db`: verifies every record of the database and changes nothing. */
export async function runAuthorityVerifyDb(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const outcome = await withProgress(context, 'Looking at every record', () =>
    commands.verifyDatabase(toStartArguments(context, options)),
  )
  if (!outcome.ok) throw new CommandError({ code: outcome.code, message: outcome.message })
  const { counts, problems } = outcome
  const checked = Object.entries(counts).map(([kind, count]) => `${kind} ${count}`)
  const lines = [
    ...problems.map((problem) => visible(problem)),
    `Checked ${checked.join(', ')}: ${plural(problems.length, 'problem')}`,
  ]
  return { data: { counts, problems }, text: lines.join('\n'), exitCode: problems.length > 0 ? 1 : 0 }
}
