import { readInstant, writeInstant } from '@chancery/protocol'

/** `YYYY-MM-DD HH:MM UTC`, for people. */
export function toDisplay(timestamp: string): string {
  const text = writeInstant(readInstant(timestamp) ?? 0n)
  return `${text.slice(0, 10)} ${text.slice(11, 16)} UTC`
}
