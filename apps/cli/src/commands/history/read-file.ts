import { open } from 'node:fs/promises'
import { StringDecoder } from 'node:string_decoder'
import { isEvidencePack, isEvidencePage, MAX_HISTORY_LINE, MAX_PACK_LENGTH, readHistoryLine } from '@chancery/sdk'
import type { EvidencePack } from '@chancery/sdk'
import type { TrustHistoryPage } from '@chancery/protocol'
import { CommandError } from '../../errors/failure.ts'
import { readText, toFailure } from '../../files/files.ts'
import { parseJsonObject } from '../../files/json-file.ts'
import { readPack } from '../verify/pack.ts'

const BLOCK_BYTES = 256 * 1024

/** A saved answer or an archive as its pages, or an evidence pack. */
export type HistoryFile = { readonly pages: AsyncIterable<TrustHistoryPage> } | { readonly pack: EvidencePack }

/** Finds out what a file is from its beginning. An archive may be larger than the memory. */
export async function openHistoryFile(path: string): Promise<HistoryFile> {
  const first = await firstLine(path)
  const value = parseJsonObject(first)
  if (isEvidencePage(first) || (value !== undefined && isEvidencePack(value)))
    return { pack: readPack(await readText(path, MAX_PACK_LENGTH)) }
  return { pages: readPages(path) }
}

async function firstLine(path: string): Promise<string> {
  for await (const line of readLines(path, MAX_PACK_LENGTH)) return line
  throw new CommandError({ code: 'empty_file', message: `${path} is empty.`, hint: 'Ask for the file again.' })
}

async function* readPages(path: string): AsyncGenerator<TrustHistoryPage> {
  for await (const line of readLines(path, MAX_HISTORY_LINE)) yield readHistoryLine(line)
}

/** Lines of a file, with a limit for each: a file without line feeds must not fill the memory. */
async function* readLines(path: string, maxLength: number): AsyncGenerator<string> {
  const handle = await open(path).catch((error: unknown) => {
    throw toFailure(error, path, 'read')
  })
  try {
    const decoder = new StringDecoder('utf8')
    let waiting = ''
    for (;;) {
      const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(BLOCK_BYTES), position: null })
      waiting += bytesRead === 0 ? decoder.end() : decoder.write(buffer.subarray(0, bytesRead))
      const lines = waiting.split('\n')
      waiting = lines.pop() ?? ''
      yield* lines
      if (waiting.length > maxLength) throw tooLong(path)
      if (bytesRead > 0) continue
      if (waiting !== '') yield waiting
      return
    }
  } finally {
    await handle.close()
  }
}

function tooLong(path: string): CommandError {
  return new CommandError({
    code: 'file_too_large',
    message: `${path} has a line that is too long.`,
    hint: 'Give a file that chancery trusted --out, chancery trusted archive or chancery evidence pack wrote.',
  })
}
