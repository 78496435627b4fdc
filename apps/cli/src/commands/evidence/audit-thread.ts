import { isAscii } from 'node:buffer'
import { parentPort, workerData } from 'node:worker_threads'
import { type VerifiedLine, verifyLine } from '@chancery/protocol'
import { type AuditKeys, keysOf } from './audit-keys.ts'

/** Verifies complete lines of a file one by one; null for a line that is not an evidence event. */
export type ExaminedLines = readonly (VerifiedLine | null)[]

const keys = keysOf(workerData as AuditKeys)

parentPort?.on('message', (bytes: Uint8Array) => {
  // As one text: copying it is much cheaper than copying ten thousand objects.
  void examineBytes(bytes).then((examined) => parentPort?.postMessage(JSON.stringify(examined)))
})

async function examineBytes(bytes: Uint8Array): Promise<ExaminedLines> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const examined: (VerifiedLine | null)[] = []
  for (const line of splitLines(buffer.toString(isAscii(buffer) ? 'latin1' : 'utf8')))
    examined.push((await verifyLine(line, keys)) ?? null)
  return examined
}

/** Other tools may have changed the line ends. */
function splitLines(text: string): string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return text.includes('\r') ? lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line)) : lines
}
