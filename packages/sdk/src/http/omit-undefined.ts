import { type JsonObject, type JsonValue, isJsonObject } from '@chancery/protocol'

/** Without undefined members, also of inner objects: they are no JSON, and leaving them out is what the caller means. */
export function omitUndefined(members: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const given = Object.entries(members).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined)
  return Object.fromEntries(given.map(([name, value]) => [name, isJsonObject(value) ? omitUndefined(value) : value]))
}
