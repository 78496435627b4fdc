import { READ_LIMITS, Refusal, type RefusalCode, type Route } from '@chancery/contract'
import { JsonError, READ_LIMITS as BODY_LIMITS, isJsonObject, member, readJson } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'

type RecordRoute = Pick<Route, 'records' | 'readLimit'>

/**
 * Replaces every `X_text` of a body by the record X that it contains, for the records that the route lists. The text is
 * read by the reader of bodies, so numbers keep their form (protocol/core 1.3). A record that is sent in
 * both forms, and a text that is not JSON, get the route's code for a malformed X.
 */
export function readRecordTexts(body: JsonObject, route: RecordRoute): JsonObject {
  return Object.entries(route.records ?? {}).reduce(
    (read, [path, code]) => replaceText(read, path.split('.'), { route, code, depth: 1 }),
    body,
  )
}

interface Place {
  readonly route: RecordRoute
  readonly code: RefusalCode
  /** How deep in the body the record is. */
  readonly depth: number
}

function replaceText(object: JsonObject, [name = '', ...rest]: readonly string[], place: Place): JsonObject {
  if (rest.length > 0) {
    const inner = member(object, name)
    if (!isJsonObject(inner)) return object
    return { ...object, [name]: replaceText(inner, rest, { ...place, depth: place.depth + 1 }) }
  }
  const field = `${name}_text`
  const text = member(object, field)
  if (text === undefined) return object
  if (typeof text !== 'string' || Object.hasOwn(object, name)) throw new Refusal(place.code, { field })
  const { [field]: _, ...others } = object
  return { ...others, [name]: readText(text, field, place) }
}

function readText(text: string, field: string, { route, code, depth }: Place): JsonValue {
  const { values, namesPerObject } = READ_LIMITS[route.readLimit ?? 'normal']
  const maxDepth = BODY_LIMITS.maxDepth - depth
  try {
    return readJson(text, { maxDepth, maxValues: values, maxNames: namesPerObject })
  } catch (error) {
    if (error instanceof JsonError) throw new Refusal(code, { field }, { cause: error })
    throw error
  }
}
