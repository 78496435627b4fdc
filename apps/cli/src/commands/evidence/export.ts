import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { constants, createGzip, createZstdCompress } from 'node:zlib'
import { writeJson } from '@chancery/protocol'
import { connectAsOperator, genesisWord } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import type { Result } from '../../output/result.ts'
import { OWNER_ONLY, refuseExisting, replaceFile, toFailure, typed } from '../../files/files.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { withProgress } from '../../output/progress.ts'
import { plural } from '../../output/plural.ts'
import { findExportEnd } from './export-end.ts'

/** Higher levels take several times as long for a tenth less. */
const CODERS = {
  gzip: () => createGzip({ level: 2 }),
  zstd: () => createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } }),
}

/**
 * Runs `evidence export`: writes page after page into a file that only the owner can read, because it names members.
 */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const file = resolve(cwd, options.required('out'))
  const compress = options.text('compress') as keyof typeof CODERS | undefined
  const isResumed = options.isSet('resume')
  if (isResumed && (compress !== undefined || options.isSet('since')))
    throw usageError(
      '--resume cannot be combined with --compress or --since.',
      'Only a file that is not compressed can be continued, and it states where.',
    )
  const keysFile = `${file}.executor-keys.json`
  if (!isResumed) await refuseExisting([file, keysFile])
  const connection = await connectAsOperator(context, options)
  const handle = await open(file, isResumed ? 'a+' : 'wx', OWNER_ONLY).catch((error: unknown) => {
    throw toFailure(error, file, 'written')
  })
  let count = 0
  try {
    const since = isResumed
      ? await cutUnfinished(handle, typed(cwd, file))
      : wholeNumberOrDefault(options, 'since', 0, Number.MAX_SAFE_INTEGER)
    await withProgress(context, 'Exporting', async (progress) => {
      async function* pages(): AsyncGenerator<Uint8Array> {
        for await (const page of connection.client().evidence.pages(since, { compressed: compress !== undefined })) {
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
  // The keys are no entries of the store, and without them no execution can be verified.
  const executor_keys = (await connection.ask((client) => client.evidence.executorKeys())).map((key) => ({ ...key }))
  if (executor_keys.length > 0) await replaceFile(keysFile, `${writeJson({ executor_keys })}\n`, OWNER_ONLY)
  const keys = executor_keys.length === 0 ? '' : ` --executor-keys ${typed(cwd, keysFile)}`
  const entries = `${count} ${isResumed ? 'more ' : ''}${count === 1 ? 'entry' : 'entries'}`
  const text = `${style.good('Exported')} ${entries} to ${typed(cwd, file)}.\nVerify it: chancery evidence verify ${typed(cwd, file)} --genesis ${genesisWord(cwd, connection)}${keys}`
  const written = executor_keys.length === 0 ? {} : { executor_keys_file: keysFile }
  return { data: { entries: count, file, ...written }, text }
}

/** Removes a line that was not written in full, and returns the sequence of the last one that was. */
async function cutUnfinished(handle: FileHandle, name: string): Promise<number> {
  const { bytes, sequence } = await findExportEnd(handle, name)
  await handle.truncate(bytes)
  return sequence
}
