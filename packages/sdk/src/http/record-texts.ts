import type { Route } from '@chancery/contract'
import { type JsonObject, isJsonObject } from '@chancery/protocol'

/**
 * A signed record, or the JSON text in which it was received. Use the text when another JSON library read the record:
 * `JSON.parse` turns 100.0 into 100, and the signature does not verify any more.
 */
export type RecordOrText<Value> = Value | string

/** Sends each record of the route that is given as text under its name and `_text`. */
export function nameTexts(body: JsonObject, { records = {} }: Pick<Route, 'records'>): JsonObject {
  return Object.keys(records).reduce((named, path) => nameText(named, path.split('.')), body)
}

function nameText(body: JsonObject, [name = '', ...rest]: readonly string[]): JsonObject {
  const value = body[name]
  if (rest.length > 0) return isJsonObject(value) ? { ...body, [name]: nameText(value, rest) } : body
  if (typeof value !== 'string') return body
  const { [name]: _, ...others } = body
  return { ...others, [`${name}_text`]: value }
}
