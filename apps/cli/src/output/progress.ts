import { visible } from '@chancery/protocol'
import type { CommandContext } from '../context.ts'
import { controlSequence } from './screen.ts'

const AFTER_MS = 1000
const CLEAR_LINE = controlSequence('\r\u001b[2K')

export interface Progress {
  /** Replaces the text; shown at once when it is already on the screen. */
  say(text: string): void
}

/** Shows a line on a terminal while something takes longer than a second, and removes it again. */
export async function withProgress<Value>(
  context: Pick<CommandContext, 'stderr' | 'showProgress'>,
  text: string,
  work: (progress: Progress) => Promise<Value>,
): Promise<Value> {
  if (!context.showProgress) return work({ say: () => undefined })
  let [current, isShown] = [text, false]
  const show = (): void => {
    isShown = true
    context.stderr.write(`${CLEAR_LINE}${visible(current)} …`)
  }
  const timer = setTimeout(show, AFTER_MS)
  const say = (next: string): void => {
    current = next
    if (isShown) show()
  }
  try {
    return await work({ say })
  } finally {
    clearTimeout(timer)
    if (isShown) context.stderr.write(CLEAR_LINE)
  }
}
