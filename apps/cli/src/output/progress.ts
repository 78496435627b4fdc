import { visible } from '@chancery/protocol'
import type { Output } from './result.ts'
import { controlSequence } from './screen.ts'

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
