import { visible } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { type Result, plural, withProgress } from '../../output/screen.ts'
import type { Options } from '../../arguments/options.ts'
import { STOP_INSTANCES, counted, pathOf, progressText, successOf } from './host.ts'
import { findSettings } from './start.ts'

const HINTS: Readonly<Record<string, string>> = {
  copy_unfinished: 'To clear away what it left and copy again: the same line with --restart.',
  copy_differs: 'The copy cannot be used. Check the database server, then copy again with --restart.',
  records_invalid: 'See: chancery authority verify with the settings of the source. The copy cannot be used.',
  instances_running: STOP_INSTANCES,
  target_not_empty: 'Nothing is ever overwritten: give DATABASE_URL an empty database.',
}

/** `authority migrate --from`: copies an SQLite authority into the empty PostgreSQL database of the settings. */
export async function copyDatabase(context: CommandContext, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const from = pathOf(context, options, 'from') ?? ''
  const settings = await findSettings(context, options)
  const outcome = await withProgress(context, 'Copying', (progress) =>
    commands.migrateDatabase({
      ...settings,
      from,
      restart: options.isSet('restart'),
      onProgress: progressText(progress),
    }),
  )
  const { tables, records } = successOf(outcome, HINTS)
  const rows = Object.values(tables).reduce((sum, count) => sum + count, 0)
  const text = [
    `${context.style.good('Copied:')} ${plural(rows, 'row')} of ${plural(Object.keys(tables).length, 'table')}, each read back and compared.`,
    `Verified: ${counted(records)}.`,
    `Do not start an authority on ${visible(from)} again: the two databases would diverge. Keep the file as a backup.`,
  ]
  return { data: { from, rows, tables, records, verified: true }, text: text.join('\n') }
}
