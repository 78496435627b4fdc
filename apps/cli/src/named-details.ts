import { member } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { RefusedError } from '@chancery/sdk'

/** What to do about one refusal. */
export type Advice = (error: RefusedError) => string

/** A member of the details of a refusal, in words. */
export function named(details: JsonObject, name: string, otherwise = 'named in the details'): string {
  const value = member(details, name)
  const words = Array.isArray(value) ? value : [value]
  const texts = words.filter((word) => typeof word === 'string' && word !== '')
  if (texts.length > SHOWN) return `${texts.slice(0, SHOWN).join(', ')} and ${texts.length - SHOWN} more`
  return texts.length === 0 ? otherwise : texts.join(', ')
}

/** A thousand unknown ids are in the details of --json; on a screen they would hide the sentence. */
const SHOWN = 5
