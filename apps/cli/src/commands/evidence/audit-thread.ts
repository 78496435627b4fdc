import { isAscii } from 'node:buffer'
import { parentPort, workerData } from 'node:worker_threads'
import { examineLine } from '@chancery/protocol'
import type { ExaminedLine } from '@chancery/protocol'
import { keysOf } from './audit-keys.ts'
import type { AuditKeys } from './audit-keys.ts'

/** Lines of a file, whole ones only, and what each of them says by itself; null for what is no evidence event. */
export type ExaminedLines = readonly (ExaminedLine | null)[]

const keys = keysOf(workerData as AuditKeys)

parentPort?.on('message', (bytes: Uint8Array) => {
  // As one text: a copy of it is much cheaper than one of ten thousand objects.
  void examineBytes(bytes).then((examined) => parentPort?.postMessage(JSON.stringify(examined)))
})

async function examineBytes(bytes: Uint8Array): Promise<ExaminedLines> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const examined: (ExaminedLine | null)[] = []
  for (const line of splitLines(buffer.toString(isAscii(buffer) ? 'latin1' : 'utf8')))
    examined.push((await examineLine(line, keys)) ?? null)
  return examined
}

/** Files that went through other hands may end their lines as those do. */
function splitLines(text: string): string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return text.includes('\r') ? lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line)) : lines
}
