import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { visible } from '@chancery/protocol'
import type { Output } from './result.ts'

/** A stream as the process gives it. */
export type RawOutput = Writable & { readonly isTTY?: boolean; readonly columns?: number }

// Random per process, so that no foreign text is taken for a control sequence of this program.
const SECRET = randomUUID()
const OWN = new RegExp(`<${SECRET}:([^>]*)>`)

/** A control sequence of this program, such as a colour, in a form that only {@link screen} turns into the real one. */
export function controlSequence(sequence: string): string {
  return `<${SECRET}:${Buffer.from(sequence).toString('hex')}>`
}

/**
 * The one place through which all output passes, of both streams. Control characters and marks that hide or reorder
 * text never reach the terminal, wherever they came from; only line breaks and our own control sequences do. The
 * escapes are those of JSON, so that a document of --json does not change its meaning.
 */
export function screen(stream: RawOutput): Output {
  return {
    get isTTY() {
      return stream.isTTY === true
    },
    get columns() {
      return stream.columns
    },
    write: (text) => stream.write(toScreen(text)),
    drained: async () => {
      if (stream.writableNeedDrain) await once(stream, 'drain')
    },
  }
}

/** Returns the text without foreign control characters. */
export function toScreen(text: string): string {
  // Text from outside and our own sequences by turns.
  return text
    .split(OWN)
    .map((part, at) => (at % 2 === 0 ? visible(part, { keepLineBreaks: true }) : Buffer.from(part, 'hex').toString()))
    .join('')
}
