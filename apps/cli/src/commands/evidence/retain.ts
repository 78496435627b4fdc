import { resolve } from 'node:path'
import { asJson, writeJson } from '@chancery/protocol'
import type { RetentionPreview, RetentionRequest } from '@chancery/sdk/authority'
import { requireConsent } from '../../prompts/preview.ts'
import { type Connection, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, plural, withProgress } from '../../output/screen.ts'
import { FOR_ALL, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import { timeSpan } from '../../arguments/time-span.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { CommandError } from '../../errors/failure.ts'
import { ArchiveFolder } from './archive-files/files.ts'
import { findProvenEnd, openValidArchive } from './archive-files/read.ts'
import { loadTrust } from './audit-inputs.ts'
import { ArchiveWriter, openSource } from './archive-files/write.ts'
import { saveExecutorKeys, verifyCommand } from './verify-hint.ts'

/** `evidence export --archive`: adds the entries that the log covers and the folder does not have. */
export async function continueArchive(context: CommandContext, options: Options): Promise<Result> {
  const { cwd, style } = context
  const folder = resolve(cwd, options.text('archive') ?? '')
  const name = typed(cwd, folder)
  const connection = await connectAsOperator(context, options)
  const { source, trust } = await openSource(connection)
  const files = new ArchiveFolder(folder)
  const chain = await openValidArchive(files, trust, name)
  const { entries, segments, last } = await withProgress(context, 'Archiving', (progress) =>
    new ArchiveWriter(files, chain, { trust, source }).write((count) => {
      if (count % 1000 === 0) progress.update(`Archived ${plural(count, 'entry', 'entries')}`)
    }),
  )
  const keys = await saveExecutorKeys(connection, folder)
  const data = {
    folder,
    entries,
    segments,
    first_sequence: chain.first,
    last_sequence: last,
    executor_keys: keys ?? null,
  }
  if (entries === 0) return { data, text: `The archive is complete through entry ${last}.` }
  const added = `${plural(entries, 'entry', 'entries')}, through entry ${last}, in ${plural(segments, 'new segment')}`
  return {
    data,
    text: `${style.good('Archived')} ${added}.\nVerify it: ${verifyCommand(context, options, { connection, file: folder, keys })}`,
  }
}

const STOPPED_BY: Readonly<Record<string, string>> = {
  end: ' No older entry is left.',
  too_young: ' The next entry is not old enough.',
  open_decision: ' The next entry is a decision that is still valid.',
  open_approval: ' The next entry is of an approval that has not ended.',
  open_budget: ' A budget still counts the next decision.',
  split_decision: ' The next decision also has younger entries.',
  resource_head_limit: ' The checkpoint has the largest number of resources.',
  through_sequence: ' The archive ends here.',
}

/** Runs `evidence prune`: removes entries permanently, so it asks first. */
export async function runEvidencePrune(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const days = timeSpan(options, 'older-than', { unit: 'd', min: 1, max: 36_500 }) ?? 0
  const out = options.text('out')
  const file = out === undefined ? undefined : resolve(context.cwd, out)
  if (file !== undefined) await refuseExisting([file])
  const connection = await connectAsOperator(context, options)
  const request = { older_than_days: days, ...(await findLimit(context, options, connection, days)) }
  if (options.isSet('dry-run'))
    return previewed(await connection.ask((client) => client.evidence.retention({ ...request, dry_run: true })))
  await requireConsent(
    context,
    options,
    `Remove evidence older than ${plural(days, 'day')} at ${connection.url}? This cannot be undone.`,
  )
  const { removed_count, checkpoint, stopped_by } = await connection.ask((client) => client.evidence.retention(request))
  const reason = STOPPED_BY[stopped_by ?? ''] ?? ''
  if (checkpoint === null)
    return { data: { removed_count, checkpoint, stopped_by }, text: `Nothing was removed.${reason}` }
  if (file !== undefined) await writeNewFile(file, `${writeJson(asJson(checkpoint))}\n`, FOR_ALL)
  const saved = file === undefined ? '' : `\nCheckpoint written to ${typed(context.cwd, file)}.`
  const text = `${context.style.good('Removed')} ${plural(removed_count, 'entry', 'entries')}, through ${checkpoint.removed_through_sequence}.${reason}${saved}`
  return { data: { removed_count, checkpoint: asJson(checkpoint), stopped_by }, text }
}

/** With an archive: only what it has. Without one: all old entries. */
async function findLimit(
  context: CommandContext,
  options: Options,
  connection: Connection,
  days: number,
): Promise<Pick<RetentionRequest, 'through_sequence'>> {
  const given = options.text('archive')
  if (given === undefined) return {}
  const folder = resolve(context.cwd, given)
  const name = typed(context.cwd, folder)
  const files = new ArchiveFolder(folder)
  const chain = await openValidArchive(files, await loadTrust(context, options), name)
  const through_sequence = await findProvenEnd(connection, files, chain, name)
  const preview = await connection.ask((client) =>
    client.evidence.retention({ older_than_days: days, through_sequence, dry_run: true }),
  )
  // An authority that does not know the limit would remove entries that are not archived.
  if (preview.through_sequence !== through_sequence)
    throw new CommandError({
      code: 'not_supported',
      message: `${connection.url} does not support --archive. Nothing was removed.`,
      hint: 'Upgrade the authority, or leave out --archive.',
    })
  return { through_sequence }
}

function previewed(preview: RetentionPreview): Result {
  const { removed_count, removed_through_sequence: through, stopped_by, complete } = preview
  const reason = STOPPED_BY[stopped_by] ?? ''
  const least = complete ? '' : 'at least '
  const text =
    through === null
      ? `Nothing would be removed.${reason}`
      : `Would remove ${least}${plural(removed_count, 'entry', 'entries')}, through ${through}.${reason}`
  return { data: asJson(preview), text }
}
