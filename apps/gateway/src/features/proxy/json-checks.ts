import { isUtf8 } from 'node:buffer'
import { JsonError, isJsonObject, readJsonBytes } from '@chancery/protocol'

/** What a body is: an object, something else, or nothing a strict reader takes. */
export type BodyKind = 'object' | 'other' | 'invalid'

/** What an answer has to be. */
export type AnswerForm = 'json' | 'json-lines'

/** Bounded by the body; the same limits as for the verify routes. */
const BODY_LIMITS = { maxDepth: 64, maxValues: 2_000_000, maxNames: 10_000 }

/** The bytes are judged and stay as they are: a signature covers numbers as they were written. */
export function kindOfBody(bytes: Uint8Array): BodyKind {
  try {
    return isJsonObject(readJsonBytes(bytes, BODY_LIMITS)) ? 'object' : 'other'
  } catch (error) {
    if (error instanceof JsonError) return 'invalid'
    throw error
  }
}

export function hasForm(bytes: Uint8Array, form: AnswerForm): boolean {
  if (!isUtf8(bytes)) return false
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
  return form === 'json' ? isJson(text) : areJsonLines(text)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function areJsonLines(text: string): boolean {
  for (let start = 0; start < text.length;) {
    const found = text.indexOf('\n', start)
    const end = found < 0 ? text.length : found
    const line = text.slice(start, end)
    if (line.trim() !== '' && !isJson(line)) return false
    start = end + 1
  }
  return true
}
