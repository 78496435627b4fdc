import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { visible } from '@chancery/protocol'
import type { Output } from './result.ts'

/** A stream of the process. */
export type RawOutput = Writable & { readonly isTTY?: boolean; readonly columns?: number }

// Random per process, so that no text from outside is treated as a control sequence of this program.
const SECRET = randomUUID()
const OWN = new RegExp(`<${SECRET}:([^>]*)>`)

/**
 * Returns a control sequence of this program, such as a colour, in a form that only {@link screen} turns into the real
 * one.
 */
export function controlSequence(sequence: string): string {
  return `<${SECRET}:${Buffer.from(sequence).toString('hex')}>`
}

/**
 * Filters all output of both streams. Control characters and characters that hide or reorder text never reach the
 * terminal; only line breaks and control sequences of this program do. The escapes are those of JSON, so that a
 * document of --json does not change its meaning.
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
  // Text from outside and sequences of this program, alternating.
  return text
    .split(OWN)
    .map((part, at) => (at % 2 === 0 ? visible(part, { keepLineBreaks: true }) : Buffer.from(part, 'hex').toString()))
    .join('')
}
