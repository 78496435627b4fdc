import type { CommandOption } from '@chancery/contract'

type GivenOption = string | boolean | readonly string[]

/** Options of the command line, by flag name without dashes. Reading an unknown flag is a defect. */
export class Options {
  readonly #given: ReadonlyMap<string, GivenOption>
  readonly #known: ReadonlyMap<string, CommandOption>

  constructor(given: ReadonlyMap<string, GivenOption>, known: readonly CommandOption[]) {
    this.#given = given
    this.#known = new Map(known.map((option) => [flagName(option.flags), option]))
  }

  /** Whether this command has such an option at all. */
  has(name: string): boolean {
    return this.#known.has(name)
  }

  isSet(name: string): boolean {
    return this.#find(name) !== undefined
  }

  text(name: string): string | undefined {
    const value = this.#find(name)
    return typeof value === 'string' ? value : Array.isArray(value) ? String(value[0]) : undefined
  }

  /** Returns the given value, else the default that the help shows. */
  textOrDefault(name: string): string {
    const value = this.text(name) ?? this.#known.get(name)?.default
    if (value === undefined) throw new Error(`--${name} has no default`)
    return value
  }

  /** Returns the value of a required option. */
  required(name: string): string {
    const value = this.text(name)
    if (value === undefined) throw new Error(`--${name} is not a required option`)
    return value
  }

  list(name: string): readonly string[] {
    const value = this.#find(name)
    return Array.isArray(value) ? (value as readonly string[]) : []
  }

  /** Every option that was given, with its dashes. */
  entries(): readonly (readonly [string, GivenOption])[] {
    return [...this.#given].map(([name, value]) => [`--${name}`, value] as const)
  }

  /** These options, with values that a command found in others of them. */
  with(values: Readonly<Record<string, GivenOption | undefined>>): Options {
    const given = new Map(this.#given)
    const known = [...this.#known.values()]
    for (const [name, value] of Object.entries(values)) {
      if (!this.#known.has(name)) known.push({ flags: `--${name} <value>`, summary: '' })
      if (value === undefined) given.delete(name)
      else given.set(name, value)
    }
    return new Options(given, known)
  }

  #find(name: string): GivenOption | undefined {
    if (!this.#known.has(name)) throw new Error(`--${name} is not an option of this command`)
    return this.#given.get(name)
  }
}

/** Positional words by the name of their argument; only the last argument of a command may take several. */
export class Arguments {
  readonly #given: ReadonlyMap<string, readonly string[]>

  constructor(given: ReadonlyMap<string, readonly string[]>) {
    this.#given = given
  }

  required(name: string): string {
    const [value] = this.list(name)
    if (value === undefined) throw new Error(`${name} is not a required argument`)
    return value
  }

  list(name: string): readonly string[] {
    return this.#given.get(name) ?? []
  }
}

/** `--valid-days <n>` → `valid-days`. */
export function flagName(flags: string): string {
  return (flags.split(' ')[0] ?? '').replace(/^--/, '')
}
