import { Refusal } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'

/** A mistyped bound must not silently become the default (protocol/core 11.3). */
export function refuseUnknownMembers(body: JsonObject, known: readonly string[]): void {
  const unknown = Object.keys(body).filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Refusal('unexpected_field', { fields: unknown.map((name) => name.slice(0, 128)) })
}
