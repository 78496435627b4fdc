import { visible } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { type Result, withProgress } from '../../output/screen.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { usageError } from '../../errors/failure.ts'
import { rehearse } from './rehearse.ts'
import { NOT_COMPARED, STOP_INSTANCES, counted, pathOf, progressText, successOf } from './host.ts'
import { findSettings } from './start.ts'

const HINTS: Readonly<Record<string, string>> = {
  instances_running: STOP_INSTANCES,
  target_not_empty: 'Move the earlier database away, or set an empty one in the settings.',
  copy_unfinished: 'Run the same command with --restart to delete the incomplete restore and start again.',
  copy_differs: 'The restored data cannot be used. Check the database server, then restore again with --restart.',
  records_invalid: 'Use another backup: this one was taken from a damaged database.',
  backup_unusable: 'Nothing was restored. Use another copy of the backup, or an older backup.',
  mark_missing:
    'Put a copy of the mark there. If there is none, add --without-mark. Then run chancery authority recover with the newest list and feed that you can find (--crl, --feed).',
}

/** Runs `authority restore`: restores a backup into the empty database of the settings. */
export async function runAuthorityRestore(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  if (options.isSet('rehearse')) return rehearse(context, options)
  if (options.isSet('on-sqlite')) throw usageError('--on-sqlite needs --rehearse.')
  const from = pathOf(context, options, 'from')
  if (from === undefined) throw usageError('Give the folder of a backup with --from, or add --rehearse.')
  const settings = await findSettings(context, options)
  const outcome = await withProgress(context, 'Restoring', (progress) =>
    commands.restore({
      ...settings,
      from,
      restart: options.isSet('restart'),
      withoutMark: options.isSet('without-mark'),
      onProgress: progressText(progress),
    }),
  )
  const { manifest, records, behind, endedRules, marks, schemaVersion, seconds } = successOf(outcome, HINTS)
  const lost = behind.filter((name) => name !== 'evidence')
  const text = [
    `${context.style.good('Restored:')} the backup of ${manifest.created_at}, in ${seconds} s, from ${visible(from)}`,
    `Verified: ${counted(records)}.`,
    ...(manifest.schema_version === schemaVersion
      ? []
      : [`Migrated from schema version ${manifest.schema_version} to ${schemaVersion}.`]),
    ...rulesText(endedRules),
    ...nextSteps(lost, behind.includes('evidence'), marks, context),
  ]
  const data = {
    from,
    created_at: manifest.created_at,
    schema_version: schemaVersion,
    records,
    behind,
    ended_rules: endedRules,
    marks,
    recovery_needed: lost.length > 0,
    evidence_missing: behind.includes('evidence'),
    seconds,
  }
  return { data, text: text.join('\n') }
}

/** The ids are from the backup, so they are printed as data. */
export function rulesText(ended: readonly string[]): readonly string[] {
  if (ended.length === 0) return []
  const names = ended.map((id) => visible(id)).join(', ')
  return [
    `Admission rules have ended: ${names}. Add those that you still need under new names: chancery invite rule add`,
  ]
}

function nextSteps(
  lost: readonly string[],
  isEvidenceLost: boolean,
  marks: number,
  { style }: CommandContext,
): readonly string[] {
  const evidence = isEvidenceLost
    ? [
        'Evidence entries are missing, so the evidence store stays disabled. Import an export: chancery authority recover --evidence',
      ]
    : []
  if (lost.length > 0)
    return [
      `${style.warn('Records were published after the backup')} (${lost.join(', ')}), so the authority refuses all requests.`,
      'Next: use a newer backup. If there is none, run chancery authority recover with the same settings. Then start the authority.',
      ...evidence,
    ]
  if (marks === 0)
    return [
      style.warn(NOT_COMPARED),
      'Next: chancery authority recover --crl FILE --feed FILE with the newest files of a gateway, a mirror or a partner network, or --without-mark if there are none. Then start the authority. One that had a mark refuses all requests until then (mark_missing).',
    ]
  return ['Nothing was published after the backup. Open invites have ended. Next: start the authority.', ...evidence]
}
