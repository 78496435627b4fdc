/** Splits JSON text into tokens. Only white space is between them. */
const PIECES = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/**
 * Indents JSON. Works on the text, not on values, so that numbers keep their signed digits. Returns other text
 * unchanged.
 */
export function indentJson(text: string): string {
  if (!/^\s*[{[]/.test(text)) return text
  let depth = 0
  let isOpened = false
  let lines = ''
  for (const [piece] of text.matchAll(PIECES)) {
    const isClosing = piece === '}' || piece === ']'
    if (isClosing) depth -= 1
    if (isClosing ? !isOpened : isOpened) lines += newLine(depth)
    isOpened = piece === '{' || piece === '['
    if (isOpened) depth += 1
    lines += piece === ':' ? ': ' : piece === ',' ? `,${newLine(depth)}` : piece
  }
  return lines
}

function newLine(depth: number): string {
  return `\n${'  '.repeat(Math.max(0, depth))}`
}
