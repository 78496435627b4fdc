import { type JsonObject, member } from '@chancery/protocol'
import type { RefusedError } from '@chancery/sdk'

/** Returns the hint for one refusal. */
export type Hint = (error: RefusedError) => string

/** Returns a field of the details of a refusal as text. */
export function named(details: JsonObject, name: string, otherwise = 'named in the details'): string {
  const value = member(details, name)
  const words = Array.isArray(value) ? value : [value]
  const texts = words.filter((word) => typeof word === 'string' && word !== '')
  if (texts.length > SHOWN) return `${texts.slice(0, SHOWN).join(', ')} and ${texts.length - SHOWN} more`
  return texts.length === 0 ? otherwise : texts.join(', ')
}

/** Returns the hint for the reason in the details, after the reason itself. */
export function withReason(details: JsonObject, hints: Readonly<Record<string, string>>, otherwise: string): string {
  const reason = named(details, 'reason', '')
  return reason === '' ? otherwise : `${reason}: ${hints[reason] ?? otherwise}`
}

/** Maximum number of ids on a screen; --json prints all. */
const SHOWN = 5
