import { visible } from '@chancery/protocol'
import type { CommandContext, Result } from '../../context.ts'
import { Failure } from '../../failure.ts'
import type { Arguments, Options } from '../../options.ts'
import { withProgress } from '../../output/progress.ts'
import { toStartArguments } from './start.ts'

/** authority verify-db: looks at every record of the authority's database and changes nothing. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const outcome = await withProgress(context, 'Looking at every record', () =>
    commands.verifyDatabase(toStartArguments(context, options)),
  )
  if (!outcome.ok) throw new Failure({ code: outcome.code, message: outcome.message })
  const { counts, problems } = outcome
  const looked = Object.entries(counts).map(([kind, count]) => `${kind} ${count}`)
  const lines = [
    ...problems.map((problem) => visible(problem)),
    `looked at ${looked.join(', ')}: ${problems.length} problems`,
  ]
  return { data: { counts, problems }, text: lines.join('\n'), exitCode: problems.length > 0 ? 1 : 0 }
}
