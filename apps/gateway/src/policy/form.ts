import { isJsonObject, member, readInstant, visible } from '@chancery/protocol'
import type { Instant, JsonValue } from '@chancery/protocol'

/** One thing wrong with a file, with the place of the member and never its value. */
export interface Problem {
  readonly path: string
  readonly message: string
}

/** Everything wrong with a file: an operator mends all of it at once. */
export class Problems {
  readonly list: Problem[] = []

  add(path: string, message: string): void {
    this.list.push({ path, message })
  }
}

export function placeOf(path: string, name: string): string {
  return path === '' ? visible(name, { maxLength: 256 }) : `${path}.${visible(name, { maxLength: 256 })}`
}

/** Gives the value, or adds a problem and gives undefined. */
export type Check<Value> = (value: JsonValue, path: string, problems: Problems) => Value | undefined

/** One object of a configuration file. Unknown members are refused: a misspelt control must not silently be off. */
export class Form {
  readonly path: string
  readonly problems: Problems
  readonly #members: { readonly [name: string]: JsonValue }

  constructor(value: JsonValue, path: string, problems: Problems, known: readonly string[]) {
    this.path = path
    this.problems = problems
    this.#members = isJsonObject(value) ? value : {}
    if (!isJsonObject(value)) problems.add(path, 'must be an object')
    for (const name of Object.keys(this.#members)) {
      if (!known.includes(name)) problems.add(placeOf(path, name), 'is not a known member')
    }
  }

  has(name: string): boolean {
    return member(this.#members, name) !== undefined
  }

  required<Value>(name: string, check: Check<Value>): Value | undefined {
    const value = member(this.#members, name)
    if (value === undefined) {
      this.problems.add(placeOf(this.path, name), 'is required')
      return undefined
    }
    return check(value, placeOf(this.path, name), this.problems)
  }

  optional<Value>(name: string, check: Check<Value>): Value | undefined {
    const value = member(this.#members, name)
    return value === undefined ? undefined : check(value, placeOf(this.path, name), this.problems)
  }

  /** The default also stands in for a wrong value: its problem is noted, and the file is not used. */
  withDefault<Value>(name: string, check: Check<Value>, absent: Value): Value {
    return this.optional(name, check) ?? absent
  }

  problem(name: string, message: string): void {
    this.problems.add(placeOf(this.path, name), message)
  }
}

export function textMatching(pattern: RegExp, rule: string): Check<string> {
  return (value, path, problems) => {
    if (typeof value === 'string' && pattern.test(value)) return value
    problems.add(path, rule)
    return undefined
  }
}

/** Any text of 1 to `max` characters. */
export function textUpTo(max: number): Check<string> {
  return (value, path, problems) => {
    if (typeof value === 'string' && value !== '' && value.length <= max) return value
    problems.add(path, `must be a text of 1 to ${max} characters`)
    return undefined
  }
}

export function integerIn(min: number, max: number): Check<number> {
  return (value, path, problems) => {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) return value
    problems.add(path, `must be a whole number from ${min} to ${max}`)
    return undefined
  }
}

export const truth: Check<boolean> = (value, path, problems) => {
  if (typeof value === 'boolean') return value
  problems.add(path, 'must be true or false')
  return undefined
}

export const instant: Check<Instant> = (value, path, problems) => {
  const found = typeof value === 'string' ? readInstant(value) : undefined
  if (found === undefined) problems.add(path, 'must be an ISO 8601 instant')
  return found
}

/** A list of distinct texts that each pass. */
export function textsOf(check: Check<string>, max: number): Check<readonly string[]> {
  return (value, path, problems) => {
    if (!Array.isArray(value) || value.length > max) {
      problems.add(path, `must be an array of at most ${max} texts`)
      return undefined
    }
    const texts: string[] = []
    for (const [index, item] of (value as readonly JsonValue[]).entries()) {
      const found = check(item, `${path}[${index}]`, problems)
      if (found !== undefined) texts.push(found)
    }
    if (new Set(texts).size !== texts.length) problems.add(path, 'repeats an item')
    return texts
  }
}
