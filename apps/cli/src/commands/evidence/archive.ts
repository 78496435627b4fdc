import { resolve } from 'node:path'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { typed } from '../../files/files.ts'
import { plural } from '../../output/plural.ts'
import { withProgress } from '../../output/progress.ts'
import type { Result } from '../../output/result.ts'
import { ArchiveFolder } from './archive-files/files.ts'
import { openValidArchive } from './archive-files/read.ts'
import { openSource } from './archive-files/source.ts'
import { ArchiveWriter } from './archive-files/write.ts'
import { saveExecutorKeys, verifyCommand } from './verify-hint.ts'

/** Runs `evidence archive`: adds the entries that the log covers and the folder does not have. */
export async function runEvidenceArchive(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const folder = resolve(cwd, options.required('to'))
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
