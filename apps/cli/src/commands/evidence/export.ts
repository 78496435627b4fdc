import { type FileHandle, open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { constants, createGzip, createZstdCompress } from 'node:zlib'
import { fromUtf8, readEventLine } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import type { Result } from '../../output/result.ts'
import { OWNER_ONLY, refuseExisting, toFailure, typed } from '../../files/files.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { withProgress } from '../../output/progress.ts'
import { plural } from '../../output/plural.ts'
import { findExportEnd } from './export-end.ts'
import { saveExecutorKeys, verifyCommand } from './verify-hint.ts'

const LINE_FEED = 10

/** Higher levels take several times as long for a tenth less. */
const CODERS = {
  gzip: () => createGzip({ level: 2 }),
  zstd: () => createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } }),
}

/**
 * Runs `evidence export`: writes page after page into a file that only the owner can read, because it names members.
 */
export async function runEvidenceExport(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const file = resolve(cwd, options.required('out'))
  const compress = options.text('compress') as keyof typeof CODERS | undefined
  const isResumed = options.isSet('resume')
  if (isResumed && (compress !== undefined || options.isSet('since')))
    throw usageError(
      '--resume cannot be combined with --compress or --since.',
      'Only a file that is not compressed can be continued, and it states where.',
    )
  if (!isResumed) await refuseExisting([file])
  const connection = await connectAsOperator(context, options)
  const handle = await open(file, isResumed ? 'a+' : 'wx', OWNER_ONLY).catch((error: unknown) => {
    throw toFailure(error, file, 'written')
  })
  let count = 0
  let first: number | undefined
  try {
    const since = isResumed
      ? await cutUnfinished(handle, typed(cwd, file))
      : wholeNumberOrDefault(options, 'since', 0, Number.MAX_SAFE_INTEGER)
    await withProgress(context, 'Exporting', async (progress) => {
      async function* pages(): AsyncGenerator<Uint8Array> {
        for await (const page of connection.client().evidence.pages(since, { compressed: compress !== undefined })) {
          if (!isResumed) first ??= sequenceOfFirst(page.bytes)
          yield page.bytes
          count += page.entries
          progress.update(`Exported ${plural(count, 'entry', 'entries')}`)
        }
      }
      const write = async (chunks: AsyncIterable<Uint8Array>): Promise<void> => {
        for await (const chunk of chunks) await handle.appendFile(chunk)
      }
      await (compress === undefined ? write(pages()) : pipeline(pages(), CODERS[compress](), write))
    })
    await handle.sync()
  } finally {
    await handle.close()
  }
  const entries = `${count} ${isResumed ? 'more ' : ''}${count === 1 ? 'entry' : 'entries'}`
  const keys = await saveExecutorKeys(connection, file)
  const text = [
    `${style.good('Exported')} ${entries} to ${typed(cwd, file)}.`,
    // A part of the store verifies only with what connects its beginning.
    first === undefined || first === 1
      ? `Verify it: ${verifyCommand(context, options, { connection, file, keys })}`
      : `It begins with entry ${first}. Verify it together with the part before, or with the checkpoint of the retention.`,
  ].join('\n')
  return { data: { entries: count, file, executor_keys: keys ?? null }, text }
}

function sequenceOfFirst(bytes: Uint8Array): number | undefined {
  const end = bytes.indexOf(LINE_FEED)
  return readEventLine(fromUtf8(bytes.subarray(0, end)) ?? '')?.entry.store_sequence
}

/** Removes a line that was not written in full, and returns the sequence of the last one that was. */
async function cutUnfinished(handle: FileHandle, name: string): Promise<number> {
  const { bytes, sequence } = await findExportEnd(handle, name)
  await handle.truncate(bytes)
  return sequence
}
