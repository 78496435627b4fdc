export interface DiffLine {
  readonly sign: ' ' | '+' | '-'
  readonly text: string
  /** Line numbers in the two texts; absent where the line is not in that text, or where lines are left out. */
  readonly before?: number
  readonly after?: number
}

/** Above this size the whole text is replaced, because the comparison table would be too large. */
const MAX_CELLS = 4_000_000
const CONTEXT = 3

/** Returns the shortest line diff, with a few equal lines around every change. */
export function diffTexts(before: string, after: string): readonly DiffLine[] {
  return aroundChanges(numbered(diffLines(before.split('\n'), after.split('\n'))))
}

function diffLines(a: readonly string[], b: readonly string[]): readonly DiffLine[] {
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1
  let end = 0
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1
  return [
    ...a.slice(0, start).map(same),
    ...diffMiddle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ]
}

function diffMiddle(a: readonly string[], b: readonly string[]): readonly DiffLine[] {
  if (a.length * b.length > MAX_CELLS) return [...a.map(gone), ...b.map(come)]
  const common = commonLengths(a, b)
  const width = b.length + 1
  const out: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i], b[j]]
    if (left !== undefined && left === right) {
      out.push(same(left))
      i += 1
      j += 1
    } else if (
      right === undefined ||
      (left !== undefined && (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))
    ) {
      out.push(gone(left ?? ''))
      i += 1
    } else {
      out.push(come(right))
      j += 1
    }
  }
  return out
}

/** For every pair of positions: the number of common lines after them. */
function commonLengths(a: readonly string[], b: readonly string[]): Uint16Array {
  const width = b.length + 1
  const lengths = new Uint16Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const at = i * width + j
      lengths[at] =
        a[i] === b[j] ? (lengths[at + width + 1] ?? 0) + 1 : Math.max(lengths[at + width] ?? 0, lengths[at + 1] ?? 0)
    }
  }
  return lengths
}

function numbered(lines: readonly DiffLine[]): readonly DiffLine[] {
  let [before, after] = [0, 0]
  return lines.map((line) => ({
    ...line,
    ...(line.sign === '+' ? {} : { before: (before += 1) }),
    ...(line.sign === '-' ? {} : { after: (after += 1) }),
  }))
}

/** Omits equal parts and marks the omission. */
function aroundChanges(lines: readonly DiffLine[]): readonly DiffLine[] {
  const isShown = lines.map((_, at) => lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(isChange))
  return lines.flatMap((line, at) => {
    if (isShown[at] === true) return [line]
    return isShown[at - 1] === true && isShown.includes(true, at) ? [same('…')] : []
  })
}

function isChange({ sign }: DiffLine): boolean {
  return sign !== ' '
}

const same = (text: string): DiffLine => ({ sign: ' ', text })
const gone = (text: string): DiffLine => ({ sign: '-', text })
const come = (text: string): DiffLine => ({ sign: '+', text })
