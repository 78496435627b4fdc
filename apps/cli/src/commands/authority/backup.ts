import { type JsonObject, visible } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { type Result, plural, withProgress } from '../../output/screen.ts'
import { typed } from '../../files/files.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { NOT_COMPARED, megabytes, pathOf, progressText, homeWords, successOf } from './host.ts'
import { findSettings } from './start.ts'

const HINTS: Readonly<Record<string, string>> = {
  database_unavailable: 'Check DB_PATH or DATABASE_URL of the settings, or run chancery doctor.',
}

const NOT_NOTED = 'Check the disk space and the permissions, or run chancery doctor.'

/** Runs `authority backup`: copies the database in use and signs a manifest. */
export async function runAuthorityBackup(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const settings = await findSettings(context, options)
  if (options.isSet('taken-elsewhere')) {
    const noted = successOf(await commands.noteBackupElsewhere(settings), HINTS)
    if (!noted.isNoted)
      throw new CommandError({
        code: 'database_unavailable',
        message: 'The database did not record the backup.',
        hint: NOT_NOTED,
      })
    return { data: { noted: true }, text: `${context.style.good('Recorded:')} a backup was taken now.` }
  }
  const to = pathOf(context, options, 'out')
  if (to === undefined) throw usageError('Give a new folder with --out, or add --taken-elsewhere.')
  const outcome = await withProgress(context, 'Backing up', (progress) =>
    commands.backup({ ...settings, to, onProgress: progressText(progress) }),
  )
  const { manifest, behind, marks, seconds, isNoted } = successOf(outcome, HINTS)
  const bytes = manifest.parts.reduce((sum, part) => sum + part.bytes, 0)
  const rows = Object.values(manifest.tables).reduce((sum, count) => sum + count, 0)
  const { crl, feed, evidence } = manifest.high_water
  const text = [
    `${context.style.good('Backed up:')} ${plural(rows, 'row')}, ${megabytes(bytes)}, in ${seconds} s, to ${visible(to)}`,
    `Revocation list ${crl?.sequence ?? 'none'}, feed ${feed?.sequence ?? 'none'}, evidence ${evidence?.sequence ?? 'none'}.`,
    ...(behind.length === 0
      ? []
      : [
          `${context.style.warn('The database was rolled back')} (${behind.join(', ')}), and so is this backup. Run chancery authority recover first.`,
        ]),
    ...(marks === 0 ? [context.style.warn(NOT_COMPARED)] : []),
    ...(isNoted ? [] : [context.style.warn(`The database did not record this backup. ${NOT_NOTED}`)]),
    'Not included: private keys, settings and the high-water mark. Back them up separately.',
    `Test it: chancery authority restore --rehearse --from ${typed(context.cwd, to)}${homeWords(context, options)}`,
  ]
  const data = { folder: to, manifest: manifest as unknown as JsonObject, behind, marks, bytes, seconds }
  return { data, text: text.join('\n') }
}
