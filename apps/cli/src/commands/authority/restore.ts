import { visible } from '@chancery/protocol'
import type { CommandContext, Result } from '../../context.ts'
import type { Arguments, Options } from '../../options.ts'
import { withProgress } from '../../output/progress.ts'
import { STOP_INSTANCES, counted, pathOf, saying, successOf, toHostArguments } from './maintenance.ts'

const HINTS: Readonly<Record<string, string>> = {
  instances_running: STOP_INSTANCES,
  target_not_empty: 'Nothing is ever overwritten: move the old database away, or name an empty one in the settings.',
  copy_unfinished: 'To clear away what it left and restore again: the same line with --restart.',
  copy_differs: 'What was restored cannot be used. Look at the server, then restore again with --restart.',
  records_invalid: 'Take another backup: this one was taken of a database that was damaged already.',
  backup_unusable: 'Nothing was restored. Take the folder from another copy of the backup, or an older backup.',
  mark_missing:
    'Put a copy of the mark there. If none is left anywhere: --without-mark, and then chancery authority recover with the newest list and feed that anybody still has (--crl, --feed).',
}

/** authority restore: a backup into the empty database of the settings, and what to do next. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const from = pathOf(context, options, 'from') ?? ''
  const outcome = await withProgress(context, 'Restoring', (progress) =>
    commands.restore({
      ...toHostArguments(context, options, ['--from']),
      from,
      restart: options.isSet('restart'),
      withoutMark: options.isSet('without-mark'),
      onProgress: saying(progress),
    }),
  )
  const { manifest, records, behind, marks, schemaVersion, seconds } = successOf(outcome, HINTS)
  const lost = behind.filter((name) => name !== 'evidence')
  const text = [
    `${context.style.good('Restored:')} the backup of ${manifest.created_at}, in ${seconds} s, from ${visible(from)}`,
    `Verified: ${counted(records)}.`,
    ...(manifest.schema_version === schemaVersion
      ? []
      : [`Brought from schema version ${manifest.schema_version} to ${schemaVersion}.`]),
    ...nextSteps(lost, behind.includes('evidence'), marks, context),
  ]
  const data = {
    from,
    created_at: manifest.created_at,
    schema_version: schemaVersion,
    records,
    behind,
    marks,
    recovery_needed: lost.length > 0,
    evidence_missing: behind.includes('evidence'),
    seconds,
  }
  return { data, text: text.join('\n') }
}

function nextSteps(
  lost: readonly string[],
  isEvidenceLost: boolean,
  marks: number,
  { style }: CommandContext,
): readonly string[] {
  const evidence = isEvidenceLost
    ? [
        'Evidence is missing. Its store stays closed until it is back: chancery authority import-evidence, with an export.',
      ]
    : []
  if (lost.length > 0)
    return [
      `${style.warn('The backup is older than what was published')} (${lost.join(', ')}): the authority serves nobody on it.`,
      'Next: look for a newer backup. If there is none: chancery authority recover, with the same settings. Then start the authority.',
      ...evidence,
    ]
  if (marks === 0)
    return [
      style.warn('Nothing was compared: no high-water mark is left.'),
      'Next: chancery authority recover --crl FILE --feed FILE with the newest ones that a gateway, a mirror or a peer still has, if any is newer than the backup. Then start the authority.',
    ]
  return ['Nothing was published after it. Next: start the authority.', ...evidence]
}
