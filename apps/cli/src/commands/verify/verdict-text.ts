import { visible } from '@chancery/protocol'
import type { Style } from '../../output/style.ts'

/** A verdict in one line: the word, the reason in words and, when it is no, its code. */
export function verdictText(
  { valid, reason }: { readonly valid: boolean; readonly reason: string },
  words: Readonly<Record<string, string>>,
  style: Style,
): string {
  const said = Object.hasOwn(words, reason) ? words[reason] : undefined
  if (valid) return `${style.good('Holds:')} ${said ?? visible(reason)}`
  return `${style.bad('Does not hold:')} ${said === undefined ? '' : `${said} `}(${visible(reason)})`
}
