import { visible } from '@chancery/protocol'
import type { Style } from './style.ts'

/** A verdict in one line: the word, the reason in words and, when it is no, its code. */
export function verdictText(
  { valid, reason }: { readonly valid: boolean; readonly reason: string },
  words: Readonly<Record<string, string>>,
  style: Style,
): string {
  const text = Object.hasOwn(words, reason) ? words[reason] : undefined
  if (valid) return `${style.good('Valid:')} ${text ?? visible(reason)}`
  return `${style.bad('Not valid:')} ${text === undefined ? '' : `${text} `}(${visible(reason)})`
}
