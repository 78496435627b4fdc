import { visible } from '@chancery/protocol'

/** The values of a settings file, and every line that could not be read. */
export interface EnvFile {
  readonly values: ReadonlyMap<string, string>
  readonly problems: readonly string[]
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * One `NAME=value` per line (protocol/core 25). Values are literal to the end of the line: quotes, spaces and `#` are
 * part of the value, because removing them would change a password. Problems name the line and never quote it, since it
 * may contain a secret.
 */
export function readEnvFile(path: string, content: string): EnvFile {
  const values = new Map<string, string>()
  const problems: string[] = []
  for (const [index, raw] of content.split('\n').entries()) {
    const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw
    const start = line.trimStart()
    if (start === '' || start.startsWith('#')) continue
    const where = `${path} line ${index + 1}`
    const equals = line.indexOf('=')
    const name = line.slice(0, Math.max(equals, 0))
    if (!NAME.test(name)) problems.push(`${where}: must read NAME=value`)
    // Refused, because one of the two values is a mistake and it is unknown which.
    else if (values.has(name)) problems.push(`${name}: given a second time in ${where}`)
    else values.set(name, line.slice(equals + 1))
  }
  return { values, problems }
}

/** Sources of settings. A flag overrides the environment; the environment overrides the file. */
export interface SettingSources {
  /** Command-line flags with their dashes; several texts when a flag was repeated. */
  readonly flags: Readonly<Record<string, string | readonly string[]>>
  readonly env: Readonly<Record<string, string | undefined>>
  readonly envFile?: { readonly path: string; readonly text: string }
}

export interface SettingRules {
  /** An undeclared variable with such a prefix stops the start: it is a misspelt setting. */
  readonly prefixes: readonly string[]
  /** Variables and flags that are accepted without a definition. */
  readonly extraNames?: readonly string[]
  /** Names of settings that are gone, with the words that say what to do. From any source they stop the start. */
  readonly formerNames?: Readonly<Record<string, string>>
}

interface NamedSetting {
  readonly name: string
  /** Other programs read this name too: with a file it comes from the file only. */
  readonly sharedName?: boolean
}

interface FoundVariable {
  readonly text: string
  /** True for a value from the environment while a file is used. Error messages name this source. */
  readonly overFile: boolean
}

/** The variables of one start, with the file read once. */
export class Variables {
  readonly problems: readonly string[]
  readonly #env: SettingSources['env']
  readonly #file: ReadonlyMap<string, string> | undefined

  constructor({ env, envFile }: Pick<SettingSources, 'env' | 'envFile'>) {
    this.#env = env
    const file = envFile && readEnvFile(envFile.path, envFile.text)
    this.#file = file?.values
    this.problems = file?.problems ?? []
  }

  find({ name, sharedName = false }: NamedSetting): FoundVariable | undefined {
    const given = this.#inEnvironment(name)
    const hasFile = this.#file !== undefined
    if (given !== undefined && !(hasFile && sharedName)) return { text: given, overFile: hasFile }
    const text = this.#file?.get(name)
    return text === undefined ? undefined : { text, overFile: false }
  }

  /**
   * Names that stop the start when no setting has them. With a file only its names count: Kubernetes sets environment
   * variables for services, and a new one must not stop the service.
   */
  strictNames(): readonly string[] {
    return this.#file === undefined ? this.#environmentNames() : [...this.#file.keys()]
  }

  /** Returns warnings for the start log, by name only; none without a file. */
  notes(settings: readonly NamedSetting[], isUnknown: (name: string) => boolean): readonly string[] {
    const file = this.#file
    if (file === undefined) return []
    const notes: string[] = []
    for (const { name, sharedName = false } of settings) {
      const given = this.#inEnvironment(name)
      if (given === undefined || given === file.get(name)) continue
      if (sharedName) notes.push(`${name}: the environment is not used, with a settings file it comes from the file`)
      else if (file.has(name)) notes.push(`${name}: the environment overrules the settings file`)
    }
    for (const name of this.#environmentNames().filter(isUnknown))
      notes.push(`${visible(name, { maxLength: 80 })}: is in the environment, and there is no such setting`)
    return notes
  }

  #inEnvironment(name: string): string | undefined {
    return Object.hasOwn(this.#env, name) ? this.#env[name] : undefined
  }

  #environmentNames(): readonly string[] {
    return Object.keys(this.#env).filter((name) => this.#env[name] !== undefined)
  }
}

/**
 * Returns the raw text of one variable, in the order of sources. For a variable that names another variable, which is
 * read before the definitions exist.
 */
export function findVariable(sources: SettingSources, name: string): string | undefined {
  return new Variables(sources).find({ name })?.text
}
