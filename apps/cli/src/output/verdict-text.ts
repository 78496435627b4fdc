import { visible } from '@chancery/protocol'
import type { Style } from './style.ts'

/** Returns a verdict as one line: the result, the reason as text and, when it is negative, its code. */
export function verdictText(
  { valid, reason }: { readonly valid: boolean; readonly reason: string },
  words: Readonly<Record<string, string>>,
  style: Style,
): string {
  const text = Object.hasOwn(words, reason) ? words[reason] : undefined
  if (valid) return `${style.good('Valid:')} ${text ?? visible(reason)}`
  return `${style.bad('Not valid:')} ${text === undefined ? '' : `${text} `}(${visible(reason)})`
}
