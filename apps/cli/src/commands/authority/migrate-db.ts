import { resolve } from 'node:path'
import type { CommandContext, Result } from '../../context.ts'
import { Failure } from '../../failure.ts'
import type { Arguments, Options } from '../../options.ts'
import { withProgress } from '../../output/progress.ts'
import { visible } from '../../output/visible.ts'
import { toStartArguments } from './start.ts'

const HINTS: Readonly<Record<string, string>> = {
  copy_unfinished: 'To clear away what it left and copy again: the same line with --restart.',
  copy_differs: 'The copy cannot be used. Look at the server, then copy again with --restart.',
  records_invalid: 'See: chancery authority verify-db with the settings of the source. The copy cannot be used.',
  target_not_empty: 'Nothing is ever overwritten: give DATABASE_URL an empty database.',
}
const MAX_SHOWN = 5

/** authority migrate-db: copies an SQLite authority into the empty PostgreSQL database of the settings. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const { flags, ...rest } = toStartArguments(context, options)
  const { '--from': from = '', ...settings } = flags
  const path = resolve(context.cwd, String(from))
  const outcome = await withProgress(context, 'Copying', (progress) =>
    commands.migrateDatabase({
      ...rest,
      flags: settings,
      from: path,
      restart: options.isSet('restart'),
      onProgress: ({ step, table, done, total }) => {
        const share = total === 0 ? '' : ` ${table}: ${done} of ${total}`
        progress.say(`${step[0]?.toUpperCase()}${step.slice(1)}${share}`)
      },
    }),
  )
  if (!outcome.ok) {
    const shown = outcome.problems.slice(0, MAX_SHOWN).map((problem) => `\n  ${visible(problem)}`)
    const more = outcome.problems.length > MAX_SHOWN ? `\n  … ${outcome.problems.length - MAX_SHOWN} more` : ''
    const message = `${outcome.message}${shown.join('')}${more}`
    throw new Failure({ code: outcome.code, message, hint: HINTS[outcome.code] })
  }
  const { tables, records } = outcome
  const rows = Object.values(tables).reduce((sum, count) => sum + count, 0)
  const verified = Object.entries(records).map(([kind, count]) => `${kind} ${count}`)
  const text = [
    `${context.style.good('Copied:')} ${rows} rows of ${Object.keys(tables).length} tables, each read back and compared.`,
    `Verified: ${verified.join(', ')}.`,
    `Do not start an authority on ${visible(path)} again: two histories would begin. Keep it as a backup.`,
  ]
  return { data: { from: path, rows, tables, records, verified: true }, text: text.join('\n') }
}
