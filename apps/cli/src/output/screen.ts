import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { visibleLines } from '@chancery/protocol'
import type { Output, Prompts } from '../context.ts'

/** A stream as the process gives it. */
export type RawOutput = Writable & { readonly isTTY?: boolean; readonly columns?: number }

// Known to this process alone: no text from outside can be taken for a control sequence of ours.
const SECRET = randomUUID()
const OWN = new RegExp(`<${SECRET}:([^>]*)>`)

/** A control sequence of this program, such as a colour, in a form that only {@link screen} turns into the real one. */
export function controlSequence(sequence: string): string {
  return `<${SECRET}:${Buffer.from(sequence).toString('hex')}>`
}

/**
 * The one place through which all output passes, of both streams. Control characters and marks that hide or reorder
 * text never reach the terminal, wherever they came from; only line breaks and our own control sequences do. The
 * escapes are those of JSON, so that a document of --json says the same as before.
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

/** The same for questions, which a library of its own draws. */
export function screenedPrompts(prompts: Prompts): Prompts {
  return {
    confirm: (question) => prompts.confirm(toScreen(question)),
    secret: (question) => prompts.secret(toScreen(question)),
    text: (question, initial, check) =>
      prompts.text(toScreen(question), initial, (answer) => {
        const problem = check(answer)
        return problem === undefined ? undefined : toScreen(problem)
      }),
  }
}

function toScreen(text: string): string {
  // Text from outside and our own sequences by turns.
  return text
    .split(OWN)
    .map((part, at) => (at % 2 === 0 ? visibleLines(part) : Buffer.from(part, 'hex').toString()))
    .join('')
}
