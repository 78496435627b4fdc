import { visible } from '@chancery/protocol'
import { PLAIN, type Style } from './style.ts'

/** Returns names and values in two columns. Values may come from outside, so control characters are escaped. */
export function fields(rows: readonly (readonly [name: string, value: string])[], style: Style = PLAIN): string {
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
