import { writeJson } from '@chancery/protocol'
import type { JsonValue } from '@chancery/protocol'

/** A value of an answer as a reader sees it: text without quotes, and a word where there is none. */
export function plain(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return 'none'
  return typeof value === 'string' ? value : writeJson(value)
}
