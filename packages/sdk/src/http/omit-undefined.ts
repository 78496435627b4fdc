import type { JsonObject, JsonValue } from '@chancery/protocol'

/** Without undefined members: they are no JSON, and leaving them out is what the caller means. */
export function omitUndefined(members: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  )
}
