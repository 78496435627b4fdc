/** JSON text split into what a reader sees as one piece. Whatever is between pieces is white space. */
const PIECES = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/**
 * The same JSON in lines. Works on the text and not on values: a number keeps the digits that were signed. What is no
 * JSON is given back as it came.
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
