import type { CommandContext } from '../../context.ts'
import { type Result, withProgress } from '../../output/screen.ts'
import type { Options } from '../../arguments/options.ts'
import { NOT_COMPARED, counted, megabytes, pathOf, progressText, successOf } from './host.ts'
import { findSettings } from './start.ts'

const HINTS: Readonly<Record<string, string>> = {
  no_throwaway: 'Allow it (alter role … createdb), or add --on-sqlite.',
  records_invalid: 'See: chancery authority verify. A restore would be refused for the same reason.',
  backup_unusable: 'This backup cannot be restored. Take a new one.',
  database_unavailable: 'Check DB_PATH or DATABASE_URL of the settings, or run chancery doctor.',
}

/** `authority restore --rehearse`: restores and upgrades in a temporary database. */
export async function rehearse(context: CommandContext, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const from = pathOf(context, options, 'from')
  const settings = await findSettings(context, options)
  const outcome = await withProgress(context, 'Rehearsing', (progress) =>
    commands.rehearse({
      ...settings,
      ...(from === undefined ? {} : { from }),
      onSqlite: options.isSet('on-sqlite'),
      onProgress: progressText(progress),
    }),
  )
  const { manifest, records, behind, marks, schemaVersion, seconds, backupSeconds, bytes, engine } = successOf(
    outcome,
    HINTS,
  )
  const took = backupSeconds === undefined ? '' : `, the backup ${backupSeconds} s`
  const upgrade =
    manifest.schema_version === schemaVersion
      ? `Schema version ${schemaVersion}: nothing to migrate.`
      : `Migrated from schema version ${manifest.schema_version} to ${schemaVersion}.`
  const text = [
    `${context.style.good('Rehearsed:')} the restore of ${megabytes(bytes)} took ${seconds} s${took}. The copy was deleted.`,
    upgrade,
    `Verified: ${counted(records)}.`,
    ...(behind.length === 0
      ? []
      : [`A restore of this backup needs chancery authority recover: ${behind.join(', ')} changed after it.`]),
    ...(marks === 0 ? [context.style.warn(NOT_COMPARED)] : []),
  ]
  const data = {
    created_at: manifest.created_at,
    engine,
    bytes,
    schema_version: { from: manifest.schema_version, to: schemaVersion },
    records,
    behind,
    marks,
    restore_seconds: seconds,
    backup_seconds: backupSeconds ?? null,
  }
  return { data, text: text.join('\n') }
}
