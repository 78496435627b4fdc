import { visible } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { CommandContext, Result } from '../../context.ts'
import { Failure, misuse } from '../../failure.ts'
import type { Arguments, Options } from '../../options.ts'
import { withProgress } from '../../output/progress.ts'
import { megabytes, pathOf, saying, successOf, toHostArguments } from './maintenance.ts'

const HINTS: Readonly<Record<string, string>> = {
  database_unavailable: 'Look at DB_PATH or DATABASE_URL of the settings; chancery doctor says more.',
}

const NOT_NOTED = 'Is its disk full, or may this user not write it? chancery doctor says.'

/** authority backup: a copy of the database in use, with a manifest signed by the authority's key. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  if (options.isSet('taken-elsewhere')) {
    const noted = successOf(
      await commands.noteBackupElsewhere(toHostArguments(context, options, ['--taken-elsewhere'])),
      HINTS,
    )
    if (!noted.isNoted)
      throw new Failure({
        code: 'database_unavailable',
        message: 'The database did not take the note.',
        hint: NOT_NOTED,
      })
    return { data: { noted: true }, text: `${context.style.good('Noted:')} a backup was taken now.` }
  }
  const to = pathOf(context, options, 'to')
  if (to === undefined) throw misuse('Name a new folder with --to, or say --taken-elsewhere.')
  const outcome = await withProgress(context, 'Backing up', (progress) =>
    commands.backup({ ...toHostArguments(context, options, ['--to']), to, onProgress: saying(progress) }),
  )
  const { manifest, behind, seconds, isNoted } = successOf(outcome, HINTS)
  const bytes = manifest.parts.reduce((sum, part) => sum + part.bytes, 0)
  const rows = Object.values(manifest.tables).reduce((sum, count) => sum + count, 0)
  const { crl, feed, evidence } = manifest.high_water
  const text = [
    `${context.style.good('Backed up:')} ${rows} rows, ${megabytes(bytes)}, in ${seconds} s, to ${visible(to)}`,
    `Revocation list ${crl?.sequence ?? 'none'}, feed ${feed?.sequence ?? 'none'}, evidence ${evidence?.sequence ?? 'none'}.`,
    ...(behind.length === 0
      ? []
      : [
          `${context.style.warn('The database is older than what was published')} (${behind.join(', ')}), and so is this backup: chancery authority recover`,
        ]),
    ...(isNoted ? [] : [context.style.warn(`The database does not know of this backup. ${NOT_NOTED}`)]),
    'Not inside: private keys, settings, the high-water mark. Keep each of them elsewhere.',
    `Try it: chancery authority rehearse --from ${visible(to)}, with the same settings.`,
  ]
  const data = { folder: to, manifest: manifest as unknown as JsonObject, behind, bytes, seconds }
  return { data, text: text.join('\n') }
}
