import { isUtf8 } from 'node:buffer'
import { JsonError, isJsonObject, readJsonBytes } from '@chancery/protocol'

/** Kind of a body: an object, another value, or not valid JSON. */
export type BodyKind = 'object' | 'other' | 'invalid'

/** Required form of a response. */
export type ResponseForm = 'json' | 'json-lines'

/** Limited by the size of the body, like the bodies of the verify routes. */
const BODY_LIMITS = { maxDepth: 64, maxValues: 2_000_000, maxNames: 10_000 }

/** Returns the kind of a body. The bytes stay unchanged, because a signature covers numbers as they were written. */
export function kindOfBody(bytes: Uint8Array): BodyKind {
  try {
    return isJsonObject(readJsonBytes(bytes, BODY_LIMITS)) ? 'object' : 'other'
  } catch (error) {
    if (error instanceof JsonError) return 'invalid'
    throw error
  }
}

export function hasForm(bytes: Uint8Array, form: ResponseForm): boolean {
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
