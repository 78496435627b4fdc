import { styleText } from 'node:util'
import { controlSequence } from './screen.ts'

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
