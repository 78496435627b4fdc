import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { type JsonObject, visible } from '@chancery/protocol'
import { styleText } from 'node:util'

/** Receives all output of a command; see output/screen.ts. */
export interface Output {
  readonly isTTY: boolean
  readonly columns: number | undefined
  /** Returns false when the reader is slower than the writer; {@link Output.drained} waits for the reader. */
  write(text: string): boolean
  drained(): Promise<void>
}

/** Holds what a command returns: data for programs, text for people, and the exit code. */
export interface Result {
  readonly data?: JsonObject
  readonly text?: string
  /** Ids of the listed or made records. With --quiet only they are printed, one per line. */
  readonly ids?: readonly string[]
  /** 0 unless given. 1 is also the code of a negative verdict, such as a block that does not verify. */
  readonly exitCode?: number
}

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

/** Returns the note below a truncated list. */
export function cutText(isCut: boolean, shown: number, total: number | null | undefined): string {
  if (!isCut) return ''
  // Without a total they were not counted: with some filters, and for more than 10000 rows.
  const of = total === null || total === undefined ? `${shown}; there are more` : `${shown} of ${total}`
  return `\nShows ${of}. Add --all or --limit.`
}

/** Returns a number with its noun: `1 entry`, `2 entries`. */
export function plural(count: number | bigint, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 || count === 1n ? one : many}`
}

/**
 * Shortens the times of a text to seconds. Times in quotes stay as they are: they are part of a JSON document, which
 * may be signed. Between columns of a table, spaces replace the removed characters.
 */
export function toSeconds(text: string): string {
  return text.replaceAll(
    /(?<!["\d.T:-])(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})Z( {2})?/g,
    (_all, time: string, fraction: string, gap: string | undefined) =>
      gap === undefined ? `${time}Z` : `${time}Z${' '.repeat(fraction.length)}${gap}`,
  )
}

const AFTER_MS = 1000
const CLEAR_LINE = controlSequence('\r\u001b[2K')

export interface Progress {
  /** Replaces the text; a visible line is updated at once. */
  update(text: string): void
}

/** Shows a line on a terminal while something takes longer than a second, and removes it again. */
export async function withProgress<Value>(
  context: { readonly stderr: Output; readonly showProgress: boolean },
  text: string,
  work: (progress: Progress) => Promise<Value>,
): Promise<Value> {
  if (!context.showProgress) return work({ update: () => undefined })
  let [current, isShown] = [text, false]
  const show = (): void => {
    isShown = true
    context.stderr.write(`${CLEAR_LINE}${visible(current)} …`)
  }
  const timer = setTimeout(show, AFTER_MS)
  const update = (next: string): void => {
    current = next
    if (isShown) show()
  }
  try {
    return await work({ update })
  } finally {
    clearTimeout(timer)
    if (isShown) context.stderr.write(CLEAR_LINE)
  }
}

/** Colours with a meaning; each gives its text unchanged when colours are off. */
export interface Style {
  title(text: string): string
  quiet(text: string): string
  good(text: string): string
  warn(text: string): string
  bad(text: string): string
}

export const PLAIN: Style = { title: same, quiet: same, good: same, warn: same, bad: same }

const COLORED: Style = {
  title: paint('bold'),
  quiet: paint('dim'),
  good: paint('green'),
  warn: paint('yellow'),
  bad: paint('red'),
}

/** Uses colours only on a terminal, and never with a non-empty NO_COLOR (no-color.org). */
export function chooseStyle(
  output: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
  isRefused: boolean,
): Style {
  const isWanted = output.isTTY === true && !isRefused && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
  return isWanted ? COLORED : PLAIN
}

function paint(format: 'bold' | 'dim' | 'green' | 'yellow' | 'red'): (text: string) => string {
  const [on = '', off = ''] = styleText(format, ' ', { validateStream: false }).split(' ').map(controlSequence)
  return (text) => `${on}${text}${off}`
}

function same(text: string): string {
  return text
}

/** Returns a verdict as one line: the result, the reason as text and, when it is negative, its code. */
export function verdictText(
  { valid, reason }: { readonly valid: boolean; readonly reason: string },
  words: Readonly<Record<string, string>>,
  style: Style,
): string {
  const text = Object.hasOwn(words, reason) ? words[reason] : undefined
  if (valid) return `${style.good('Valid:')} ${text ?? visible(reason)}`
  return `${style.bad('Not valid:')} ${text === undefined ? '' : `${text} `}(${visible(reason)})`
}

/** Names and values of a record, as they are shown. */
export type Members = readonly (readonly [name: string, value: string])[]

/** Returns names and values in two columns. Values may come from outside, so control characters are escaped. */
export function fields(rows: Members, style: Style = PLAIN): string {
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `  ${style.quiet(name.padEnd(width))}  ${visible(value)}`).join('\n')
}

/** Returns rows under a header; columns are as wide as their widest cell. */
export function table(head: readonly string[], rows: readonly (readonly string[])[], style: Style = PLAIN): string {
  const shown = rows.map((row) => row.map((cell) => visible(cell)))
  const widths = head.map((title, column) => Math.max(title.length, ...shown.map((row) => widthOf(row[column] ?? ''))))
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join('  ')
      .trimEnd()
  return [style.quiet(line(head)), ...shown.map(line)].join('\n')
}

/** Counts characters, not UTF-16 units. Wide characters may misalign the columns. */
function widthOf(text: string): number {
  return [...text].length
}
