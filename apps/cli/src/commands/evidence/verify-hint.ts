import { type JsonValue, asJson, fromUtf8, isJsonObject, joinBytes, readEventLine, writeJson } from '@chancery/protocol'
import type { Options } from '../../arguments/options.ts'
import type { Connection } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { FOR_ALL, errorCode, replaceFile, typed } from '../../files/files.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import { shellWord } from '../../output/shell-word.ts'
import type { FileHandle } from 'node:fs/promises'

const BLOCK_BYTES = 256 * 1024
const LINE_FEED = 10

/** Where the whole lines of an export end, and the sequence of the last one; both 0 for a file without a whole line. */
export interface ExportEnd {
  readonly bytes: number
  readonly sequence: number
}

/** Reads the file from its end, only as far as its last whole line. */
export async function findExportEnd(handle: FileHandle, name: string): Promise<ExportEnd> {
  const { size } = await handle.stat()
  let tail = new Uint8Array()
  for (let start = size; ;) {
    const end = tail.lastIndexOf(LINE_FEED)
    const before = end < 1 ? -1 : tail.lastIndexOf(LINE_FEED, end - 1)
    if (end >= 0 && (before >= 0 || start === 0)) {
      const event = readEventLine(fromUtf8(tail.subarray(before + 1, end)) ?? '')
      if (event === undefined) throw notAnExport(name)
      return { bytes: start + end + 1, sequence: event.entry.store_sequence }
    }
    if (start === 0) return { bytes: 0, sequence: 0 }
    const length = Math.min(BLOCK_BYTES, start)
    start -= length
    const { buffer, bytesRead } = await handle.read({ buffer: new Uint8Array(length), position: start })
    if (bytesRead !== length) throw notAnExport(name)
    tail = joinBytes([buffer, tail])
  }
}

function notAnExport(name: string): CommandError {
  return new CommandError({
    code: 'invalid_record',
    message: `${name} does not end with an entry of an evidence export.`,
    hint: 'Give the file of an export that was interrupted, or export to a new file.',
  })
}

/**
 * Saves the executor keys next to an export or archive, because its executions verify only with them. A saved key is
 * never replaced by another one. Returns the file; undefined when there is no key.
 */
export async function saveExecutorKeys(connection: Connection, target: string): Promise<string | undefined> {
  const { executor_keys: keys } = await connection.ask(({ evidence }) => evidence.executorKeys())
  if (keys.length === 0) return undefined
  const file = `${target}.keys.json`
  const known = new Map(keys.map(({ key_id, public_key }) => [key_id, public_key]))
  for (const each of await savedKeys(file)) {
    const [id, key] = isJsonObject(each) ? [each['key_id'], each['public_key']] : []
    if (typeof id === 'string' && known.get(id) === key) continue
    throw new CommandError({
      code: 'executor_key_changed',
      message: `${file} has another executor key ${JSON.stringify(id ?? null)} than ${connection.url}.`,
      hint: 'The file was not changed. Find out which key the executor has.',
    })
  }
  await replaceFile(file, `${writeJson(asJson({ executor_keys: keys }))}\n`, FOR_ALL)
  return file
}

async function savedKeys(file: string): Promise<readonly JsonValue[]> {
  try {
    const { executor_keys: keys } = await loadJsonObject('/', file)
    return Array.isArray(keys) ? (keys as readonly JsonValue[]) : [null]
  } catch (error) {
    if (error instanceof CommandError && errorCode(error.cause) === 'ENOENT') return []
    throw error
  }
}

/** The command that verifies an export or archive, as it can be typed here. */
export function verifyCommand(
  { cwd }: CommandContext,
  options: Options,
  { connection, file, keys }: { connection: Connection; file: string; keys: string | undefined },
): string {
  const [home, network, genesis] = [options.text('home'), options.text('network'), options.text('genesis')]
  const trust =
    genesis !== undefined && connection.followed !== undefined
      ? ` --genesis ${shellWord(genesis)}`
      : home !== undefined
        ? ` --home ${shellWord(home)}`
        : network !== undefined
          ? ` --network ${shellWord(network)}`
          : ''
  const executors = keys === undefined ? '' : ` --with ${typed(cwd, keys)}`
  return `chancery verify ${typed(cwd, file)}${executors}${trust}`
}
