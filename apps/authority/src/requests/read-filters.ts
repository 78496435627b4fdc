import { Refusal } from '@chancery/contract'
import { isPlainText, readInstant, writeSortable } from '@chancery/protocol'
import type { Query } from '@chancery/service-kit'

const MAX_TEXT = 128

/** Reads a filter of 1 to 128 characters. */
export function readTextFilter(query: Query, name: string): string | undefined {
  const value = query.first(name)
  if (value !== undefined && !isPlainText(value, MAX_TEXT)) throw new Refusal('invalid_input', { field: name })
  return value
}

/** Reads a filter that has fixed values. */
export function readChoiceFilter<Value extends string>(
  query: Query,
  name: string,
  values: readonly Value[],
): Value | undefined {
  const value = query.first(name)
  const found = values.find((each) => each === value)
  if (value !== undefined && found === undefined) throw new Refusal('invalid_input', { field: name })
  return found
}

/** Reads a time as it is stored. A plus that a form encoder replaced by a blank is read as a plus. */
export function readTimeFilter(query: Query, name: string): string | undefined {
  const text = query.first(name)
  if (text === undefined) return undefined
  const instant = readInstant(text.replace(/ (?=\d\d:\d\d$)/, '+'))
  if (instant === undefined) throw new Refusal('invalid_timestamps', { field: name })
  return writeSortable(instant)
}
