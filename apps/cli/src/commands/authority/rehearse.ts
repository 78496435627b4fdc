import type { CommandContext, Result } from '../../context.ts'
import type { Arguments, Options } from '../../options.ts'
import { withProgress } from '../../output/progress.ts'
import { counted, megabytes, pathOf, saying, successOf, toHostArguments } from './maintenance.ts'

const HINTS: Readonly<Record<string, string>> = {
  no_throwaway: 'Let it (alter role … createdb), or rehearse in a file: the same line with --on-sqlite.',
  records_invalid: 'See: chancery authority verify-db. A restore would be refused for the same reason.',
  backup_unusable: 'This backup cannot be restored: take a new one.',
  database_unavailable: 'Look at DB_PATH or DATABASE_URL of the settings; chancery doctor says more.',
}

/** authority rehearse: a restore and an upgrade into a database that is dropped afterwards. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const from = pathOf(context, options, 'from')
  const outcome = await withProgress(context, 'Rehearsing', (progress) =>
    commands.rehearse({
      ...toHostArguments(context, options, ['--from']),
      ...(from === undefined ? {} : { from }),
      onSqlite: options.isSet('on-sqlite'),
      onProgress: saying(progress),
    }),
  )
  const { manifest, records, behind, schemaVersion, seconds, backupSeconds, bytes, engine } = successOf(outcome, HINTS)
  const took = backupSeconds === undefined ? '' : `, the backup ${backupSeconds} s`
  const upgrade =
    manifest.schema_version === schemaVersion
      ? `Schema version ${schemaVersion}: nothing to migrate.`
      : `Migrated from schema version ${manifest.schema_version} to ${schemaVersion}.`
  const text = [
    `${context.style.good('Rehearsed:')} the restore of ${megabytes(bytes)} took ${seconds} s${took}. Nothing was kept.`,
    upgrade,
    `Verified: ${counted(records)}.`,
    ...(behind.length === 0
      ? []
      : [`Restored now, it would have to be recovered: ${behind.join(', ')} went on after it.`]),
  ]
  const data = {
    created_at: manifest.created_at,
    engine,
    bytes,
    schema_version: { from: manifest.schema_version, to: schemaVersion },
    records,
    behind,
    restore_seconds: seconds,
    backup_seconds: backupSeconds ?? null,
  }
  return { data, text: text.join('\n') }
}
