import { type FileHandle, open, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import {
  AnchorChecker,
  StoreChecker,
  isJsonObject,
  joinBytes,
  readEventLine,
  reportJson,
  visible,
} from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { type Result, plural, withProgress } from '../../output/screen.ts'
import type { Options } from '../../arguments/options.ts'
import { loadBoundary, loadExecutorKeys, loadTrust } from './audit-inputs.ts'
import { type AuditKeys, keysOf } from './audit-keys.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { AuditThreads, describeStore, missingKeysText, remarksText, setAside, unprovenOf } from './describe-report.ts'
import { loadAnchors } from './saved-anchors.ts'
import { verifyFolder } from './verify-archive.ts'
import { pipeline } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { toFailure } from '../../files/files.ts'
import type { ExaminedLines } from './audit-thread.ts'

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
async function auditFile(
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

/** `verify` of an export without a server, with the given keys only. A folder is an archive. */
export async function verifyExport(context: CommandContext, file: string, options: Options): Promise<Result> {
  const found = await stat(resolve(context.cwd, file)).catch(() => undefined)
  if (found?.isDirectory() === true) return verifyFolder(context, file, options)
  if (options.isSet('live'))
    throw usageError('--live is for an archive.', 'Give the folder of chancery evidence export --archive.')
  const trust = await loadTrust(context, options)
  const anchors = await AnchorChecker.open(await loadAnchors(context, options), trust.keys, trust.network)
  const keys = { authority: trust.keys, executors: await loadExecutorKeys(context, options) }
  const boundary = await loadBoundary(context, options)
  const checker = new StoreChecker({ keys: keysOf(keys), scope: 'store', boundary, anchors })
  await withProgress(context, `Verifying ${file}`, (progress) =>
    auditFile(resolve(context.cwd, file), checker, keys, {
      network: trust.network,
      update: (share) =>
        progress.update(
          `Verified ${plural(checker.checked, 'entry', 'entries')} (${Math.floor(share * 100)} %), ${plural(checker.failureCount, 'failure')}`,
        ),
    }),
  )
  const report = await checker.finish()
  const { verified, unjudged } = options.isSet('executor-keys') ? { verified: report, unjudged: 0 } : setAside(report)
  const missing = unjudged === 0 ? {} : { verified: false, executions_not_judged: unjudged, missing: 'executor_keys' }
  const anchored = anchors.report()
  const isEmpty = report.checked_entries === 0 && report.failures.length === 0
  const nothing = isEmpty ? { verified: false, missing: 'entries' } : {}
  const unproven = [...unprovenOf(verified, anchored)]
  const data = reportJson(verified, { anchors: anchored, unproven, ...missing, ...nothing })
  if (isEmpty) {
    const text = `${context.style.warn('Nothing was verified:')} ${visible(file)} has no entry.`
    return { data, text, exitCode: 3 }
  }
  const text = [
    ...(unjudged === 0 || verified.failures.length > 0 ? [describeStore(context, file, verified)] : []),
    ...(unjudged === 0 ? remarksText(context, verified, anchored) : [missingKeysText(context, unjudged, verified)]),
  ].join('\n')
  return { data, text, exitCode: report.failures.length === 0 ? 0 : 1 }
}
