import { visible } from '@chancery/protocol'
import { PLAIN } from './style.ts'
import type { Style } from './style.ts'

/** Names and values in two columns. Values come from anywhere, so they are made visible here. */
export function fields(rows: readonly (readonly [name: string, value: string])[], style: Style = PLAIN): string {
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `  ${style.quiet(name.padEnd(width))}  ${visible(value)}`).join('\n')
}

/** Rows under a head line; columns are as wide as their widest cell. */
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

/** Characters, not UTF-16 units; wide characters may still misalign, never mislead. */
function widthOf(text: string): number {
  return [...text].length
}
