import { type FileHandle, open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { type StoreChecker, isJsonObject, joinBytes, readEventLine, visible } from '@chancery/protocol'
import { CommandError } from '../../errors/failure.ts'
import { toFailure } from '../../files/files.ts'
import type { AuditKeys } from './audit-keys.ts'
import type { ExaminedLines } from './audit-thread.ts'
import { AuditThreads } from './audit-threads.ts'

const BLOCK_BYTES = 256 * 1024
const LINE_FEED = 10
/** Of a compressed file; far more than a checkpoint over a million resources. */
const MAX_LINE_BYTES = 256 * 1024 * 1024
/** Blocks in flight for each thread: one is processed, the others wait, so that no thread waits for this one. */
const AHEAD = 4

/**
 * Verifies a file: threads verify the lines, and the checker compares them with their neighbours here, in order. Only a
 * few blocks are in memory at once.
 */
export async function auditFile(
  path: string,
  checker: StoreChecker,
  keys: AuditKeys,
  { network, update }: { readonly network: string; readonly update: (share: number) => void },
): Promise<void> {
  const handle = await open(path).catch((error: unknown) => {
    throw toFailure(error, path, 'read')
  })
  const threads = new AuditThreads(keys)
  try {
    const source = await openSource(handle)
    const pending: Promise<ExaminedLines>[] = []
    let events = 0
    const takeNext = async (): Promise<void> => {
      for (const line of (await pending.shift()) ?? []) {
        checker.take(line ?? undefined)
        if (line !== null) events += 1
      }
    }
    let isFirst = true
    for await (const block of readBlocks(source, path)) {
      const named = isFirst ? networkOf(block) : undefined
      if (named !== undefined && named !== network) throw otherNetwork(path, named, network)
      isFirst = false
      const examined = threads.examine(block)
      // The promise may fail while an earlier one is awaited; the caller that awaits it receives the error.
      examined.catch(() => undefined)
      pending.push(examined)
      if (pending.length >= threads.size * AHEAD) await takeNext()
      update(source.share())
    }
    while (pending.length > 0) await takeNext()
    if (events === 0 && checker.checked > 0) throw brokenFile(path, 'no line of it is an entry')
  } finally {
    await threads.close()
    await handle.close()
  }
}

/** The bytes of an export, and how much of the file was read. */
interface Source {
  readonly chunks: AsyncIterable<Uint8Array>
  readonly maxLineBytes: number
  share(): number
}

async function openSource(handle: FileHandle): Promise<Source> {
  const { size } = await handle.stat()
  const { buffer, bytesRead } = await handle.read({ buffer: new Uint8Array(4), position: 0 })
  const start = Buffer.from(buffer.subarray(0, bytesRead)).toString('hex')
  const coding = CODINGS.find(({ magic }) => start.startsWith(magic))
  let position = 0
  async function* readFile(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const read = await handle.read({ buffer: new Uint8Array(BLOCK_BYTES), position })
      if (read.bytesRead === 0) return
      position += read.bytesRead
      yield read.buffer.subarray(0, read.bytesRead)
    }
  }
  const share = (): number => position / Math.max(size, 1)
  if (coding === undefined) return { chunks: readFile(), maxLineBytes: Infinity, share }
  // An error of the file reaches the reader of the decoder.
  const decoded = pipeline(readFile(), coding.open(), () => undefined)
  return { chunks: decoded, maxLineBytes: MAX_LINE_BYTES, share }
}

/** The first bytes of compressed files; a line begins with a brace. */
const CODINGS = [
  { magic: '1f8b', open: () => createGunzip({ chunkSize: BLOCK_BYTES }) },
  { magic: '28b52ffd', open: () => createZstdDecompress({ chunkSize: BLOCK_BYTES }) },
] as const

/** Returns blocks of whole lines; a line that is longer than a block is one block. */
async function* readBlocks({ chunks, maxLineBytes }: Source, path: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let saved: Uint8Array[] = []
  let savedBytes = 0
  try {
    for await (const bytes of chunks) {
      const end = bytes.lastIndexOf(LINE_FEED) + 1
      if (end > 0) {
        yield joinBytes([...saved, bytes.subarray(0, end)])
        ;[saved, savedBytes] = [[], 0]
      }
      if (end < bytes.length) saved.push(bytes.subarray(end))
      savedBytes += bytes.length - end
      // A few compressed bytes can decode to a line without end.
      if (savedBytes > maxLineBytes) throw brokenFile(path, 'a line is too long')
    }
  } catch (error) {
    if (isZlibError(error)) throw brokenFile(path, 'it cannot be decompressed')
    throw error
  }
  if (saved.length > 0) yield joinBytes(saved)
}

/** The network that the first decision of a block names. Nothing is verified yet. */
function networkOf(block: Uint8Array): string | undefined {
  for (const line of Buffer.from(block).toString('utf8').split('\n', 100)) {
    const event = readEventLine(line)
    const payload = event?.entry.entry_kind === 'decision' ? event.payload : undefined
    const decision = isJsonObject(payload) ? payload['decision'] : undefined
    const name = isJsonObject(decision) ? decision['operator_sovereign_id'] : undefined
    if (typeof name === 'string') return name
  }
  return undefined
}

function otherNetwork(path: string, named: string, network: string): CommandError {
  return new CommandError({
    code: 'other_network',
    message: `${path} is of another network: its decisions name ${visible(named)}, and you trust ${visible(network)}.`,
    hint: 'Give --genesis with the genesis block of that network.',
  })
}

function brokenFile(path: string, problem: string): CommandError {
  return new CommandError({ code: 'invalid_record', message: `${path} is not an evidence export: ${problem}.` })
}

function isZlibError(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code.startsWith('Z_') || code.startsWith('ZSTD_')
}
