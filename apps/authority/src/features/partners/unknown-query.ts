import { Refusal } from '@chancery/contract'
import type { Call } from '@chancery/service-kit'
import { shorten } from '../../requests/read-fields.ts'

/** A mistyped filter must not return everything. */
export function refuseUnknownQuery(call: Call, known: readonly string[]): void {
  const unknown = Object.keys(call.query.toObject()).filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw new Refusal('unexpected_field', { fields: [...new Set(unknown)].toSorted().slice(0, 64).map(shorten) })
}
