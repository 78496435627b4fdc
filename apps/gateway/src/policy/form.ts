import {
  type Instant,
  type JsonObject,
  type JsonValue,
  isJsonObject,
  member,
  readInstant,
  visible,
} from '@chancery/protocol'

/** One problem of a file, with the path of the member and never its value. */
export interface Problem {
  readonly path: string
  readonly message: string
}

/** Collects all problems of a file, so that an operator can fix them together. */
export class Problems {
  readonly list: Problem[] = []

  add(path: string, message: string): void {
    this.list.push({ path, message })
  }
}

export function pathOf(path: string, name: string): string {
  return path === '' ? visible(name, { maxLength: 256 }) : `${path}.${visible(name, { maxLength: 256 })}`
}

/** Returns the value, or adds a problem and returns undefined. */
export type Check<Value> = (value: JsonValue, path: string, problems: Problems) => Value | undefined

/**
 * Reads one object of a configuration file. Unknown members are refused: a misspelt control must not be off without a
 * message.
 */
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
      if (!known.includes(name)) problems.add(pathOf(path, name), 'is not a known member')
    }
  }

  has(name: string): boolean {
    return member(this.#members, name) !== undefined
  }

  required<Value>(name: string, check: Check<Value>): Value | undefined {
    const value = member(this.#members, name)
    if (value === undefined) {
      this.problems.add(pathOf(this.path, name), 'is required')
      return undefined
    }
    return check(value, pathOf(this.path, name), this.problems)
  }

  optional<Value>(name: string, check: Check<Value>): Value | undefined {
    const value = member(this.#members, name)
    return value === undefined ? undefined : check(value, pathOf(this.path, name), this.problems)
  }

  /** Returns the value or the default. A wrong value adds a problem, and then the file is not used. */
  withDefault<Value>(name: string, check: Check<Value>, absent: Value): Value {
    return this.optional(name, check) ?? absent
  }

  problem(name: string, message: string): void {
    this.problems.add(pathOf(this.path, name), message)
  }
}

export function textMatching(pattern: RegExp, rule: string): Check<string> {
  return (value, path, problems) => {
    if (typeof value === 'string' && pattern.test(value)) return value
    problems.add(path, rule)
    return undefined
  }
}

/** Checks for a text of 1 to `max` characters. */
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

/** Checks for a list of distinct texts that each pass `check`. */
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

/** Checks for one of some names. */
export function knownText(words: ReadonlySet<string>, problem: string): Check<string> {
  return (value, path, problems) => {
    if (typeof value === 'string' && words.has(value)) return value
    problems.add(path, problem)
    return undefined
  }
}

const MAX_KEYS = 64

/** A JSON Web Key Set that a file contains. */
export const keySet: Check<readonly JsonObject[]> = (value, path, problems) => {
  const keys = isJsonObject(value) ? value['keys'] : undefined
  const list = Array.isArray(keys) ? (keys as readonly JsonValue[]).filter((key) => isJsonObject(key)) : []
  if (list.length > 0 && list.length <= MAX_KEYS) return list
  problems.add(path, `must be a key set of 1 to ${MAX_KEYS} keys`)
  return undefined
}
