import { type JsonValue, writeJson } from '@chancery/protocol'

/** Returns a value of a response as text: without quotes, and with a word for a missing value. */
export function plain(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return 'none'
  return typeof value === 'string' ? value : writeJson(value)
}
