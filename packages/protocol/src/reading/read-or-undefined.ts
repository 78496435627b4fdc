import { JsonError } from '../canonical/read-json.ts'
import { FormError } from './schema.ts'

/** What a reader gives, or undefined for a text or a record of another form. Other errors are thrown on. */
export function readOrUndefined<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof FormError || error instanceof JsonError) return undefined
    throw error
  }
}
