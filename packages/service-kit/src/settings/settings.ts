import { readFile } from 'node:fs/promises'
import { visible } from '@chancery/protocol'
import { type Reader, SettingError } from './readers.ts'
import { type SettingRules, type SettingSources, Variables } from './sources.ts'
import { WRONG_SETTINGS } from './start-error.ts'

interface SettingFacts<T> {
  /** The variable's name. */
  readonly name: string
  /** The command-line flag that overrules the variable, with its dashes. */
  readonly flag?: string
  /** One sentence for the generated reference. */
  readonly help: string
  readonly read: Reader<T>
  /** Reads the flag when it may be repeated or is written differently from the variable. */
  readonly readFlags?: (texts: readonly string[]) => T
  /** Text for the default in the reference, when the value itself does not explain it. */
  readonly defaultText?: string
  /** Adds the flags to the variable; without it they replace it. A method, so that settings of all types fit one table. */
  addFlags?(configured: T, given: T): T
  /** The value is never shown, neither in problems nor in the reference. */
  readonly secret?: boolean
  /** Other programs read this name too (PORT): with a settings file it is taken from the file only. */
  readonly sharedName?: boolean
}

/** One setting of a service. `T` includes `undefined` when the setting is optional. */
export interface Setting<T> extends SettingFacts<T> {
  readonly default?: T | undefined
  readonly required?: boolean
}

/** Declares a setting: required, with a default, or optional (then its value may be undefined). */
export function setting<T>(
  facts: SettingFacts<T> & { readonly required: true; readonly default?: undefined },
): Setting<T>
export function setting<T>(
  facts: SettingFacts<T> & { readonly default: NoInfer<T>; readonly required?: false },
): Setting<T>
export function setting<T>(
  facts: SettingFacts<T> & { readonly default?: undefined; readonly required?: false },
): Setting<T | undefined>
export function setting<T>(facts: Setting<T>): Setting<T> {
  return facts
}

export type SettingDefinitions = Readonly<Record<string, Setting<unknown>>>

/** The values of a set of definitions, under the same names. */
export type SettingValues<Definitions extends SettingDefinitions> = {
  readonly [Key in keyof Definitions]: Definitions[Key] extends Setting<infer T> ? T : never
}

/** All problems of the settings, one line each, starting with the name of the variable. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly exitCode: number = WRONG_SETTINGS
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** The settings of a service. `values` is undefined when there are problems. */
export interface SettingsResult<Values> {
  readonly values: Values | undefined
  /** One line per problem, each naming its variable. */
  readonly problems: readonly string[]
  /** Differences between the environment and the settings file, for the start log. They never contain a value. */
  readonly notes: readonly string[]
}

/** Returns the values, or throws one {@link SettingsError} with all problems. */
export function requireValues<Values>({ values, problems }: SettingsResult<Values>): Values {
  if (values === undefined) throw new SettingsError(problems)
  return values
}

/** Reads settings from flags, from the environment of this process and from the settings file. */
export async function readProcessSettings<Values>(
  { flags, envFile }: { readonly flags: SettingSources['flags']; readonly envFile?: string | undefined },
  read: (sources: SettingSources) => SettingsResult<Values>,
): Promise<SettingsResult<Values>> {
  const sources: SettingSources = { flags, env: process.env }
  if (envFile === undefined) return read(sources)
  const text = await readFile(envFile, 'utf8').catch(() => undefined)
  if (text !== undefined) return read({ ...sources, envFile: { path: envFile, text } })
  const problem = `--env-file: ${visible(envFile, { maxLength: 256 })} cannot be read`
  return { values: undefined, problems: [problem], notes: [] }
}

export interface SettingsReading<Definitions extends SettingDefinitions> {
  /** A setting with a problem has its default here. */
  readonly values: SettingValues<Definitions>
  /** Adds the problems between settings when each of these settings was read: a wrong setting is reported once. */
  readonly addProblems: (keys: readonly (keyof Definitions)[], problems: readonly string[]) => void
  /** Returns the converted values, or the problems. `convert` runs only without a problem. */
  finish<Values>(convert: (values: SettingValues<Definitions>) => Values | undefined): SettingsResult<Values>
}

/**
 * Reads every setting once and collects all problems (reliability 13). Without rules it reads a part of the settings of a
 * service: other names are not reported.
 */
export function readSettings<const Definitions extends SettingDefinitions>(
  definitions: Definitions,
  sources: SettingSources,
  rules?: SettingRules,
): SettingsReading<Definitions> {
  const variables = new Variables(sources)
  const all = Object.values(definitions)
  const isOurs = (name: string): boolean => rules?.prefixes.some((prefix) => name.startsWith(prefix)) ?? false
  const formerNames = Object.entries(rules?.formerNames ?? {}).filter(([name]) => isOurs(name) || name.startsWith('--'))
  const given = formerNames.filter(([name]) => name in sources.flags || variables.find({ name }) !== undefined)
  const known = new Set([
    ...(rules?.extraNames ?? []),
    ...formerNames.map(([name]) => name),
    ...all.flatMap(({ name, flag = name }) => [name, flag]),
  ])
  const isUnknown = (name: string): boolean => !known.has(name) && isOurs(name)
  const unknown = [
    ...Object.keys(sources.flags).filter((flag) => rules !== undefined && !known.has(flag)),
    ...variables.strictNames().filter(isUnknown),
  ]
  const problems = [
    ...variables.problems,
    ...unknown.map((name) => `${visible(name, { maxLength: 80 })}: there is no such setting`),
    ...given.map(([name, words]) => `${name}: ${words}`),
  ]
  const notes = variables.notes(
    all.filter(({ flag }) => flag === undefined || !(flag in sources.flags)),
    isUnknown,
  )
  const failed = new Set<keyof Definitions>()
  const read: Record<string, unknown> = {}
  for (const [key, definition] of Object.entries(definitions)) {
    try {
      read[key] = readOne(definition, variables, sources)
    } catch (thrown) {
      if (!(thrown instanceof SettingError)) throw thrown
      problems.push(`${definition.name}: ${thrown.message}`)
      failed.add(key)
      read[key] = definition.default
    }
  }
  // Each value has the type that its own reader returns, which the compiler cannot follow.
  const values = read as SettingValues<Definitions>
  return {
    values,
    addProblems: (keys, more) => {
      if (!keys.some((key) => failed.has(key))) problems.push(...more)
    },
    finish: (convert) => ({ values: problems.length > 0 ? undefined : convert(values), problems, notes }),
  }
}

export function readOne(definition: Setting<unknown>, variables: Variables, sources: SettingSources): unknown {
  const { flag } = definition
  if (flag !== undefined && Object.hasOwn(sources.flags, flag)) {
    const texts = sources.flags[flag] ?? []
    const given = readFlag(definition, flag, typeof texts === 'string' ? [texts] : texts)
    return definition.addFlags?.(readVariable(definition, variables), given) ?? given
  }
  return readVariable(definition, variables)
}

function readVariable(definition: Setting<unknown>, variables: Variables): unknown {
  const { flag } = definition
  const found = variables.find(definition)
  if (found !== undefined) {
    const where = found.overFile ? 'in the environment ' : ''
    return readText(definition, where, [found.text], () => definition.read(found.text))
  }
  if (definition.required === true) {
    throw new SettingError(flag === undefined ? 'is required' : `is required (or ${flag})`)
  }
  return definition.default
}

function readFlag(definition: Setting<unknown>, flag: string, texts: readonly string[]): unknown {
  const { readFlags } = definition
  if (readFlags !== undefined) return readText(definition, `${flag} `, texts, () => readFlags(texts))
  const [text, ...more] = texts
  if (text === undefined || more.length > 0) throw new SettingError(`${flag} must be given once`)
  return readText(definition, `${flag} `, texts, () => definition.read(text))
}

function readText(definition: Setting<unknown>, where: string, texts: readonly string[], read: () => unknown): unknown {
  try {
    return read()
  } catch (thrown) {
    // Platform errors are not passed on: the error of `new URL` contains the whole text, with its password.
    const reason = thrown instanceof SettingError ? thrown.message : 'cannot be read'
    if (definition.secret !== true) {
      throw new SettingError(
        `${where}${reason} (given: ${texts.map((text) => `"${visible(text, { maxLength: 80 })}"`).join(', ')})`,
      )
    }
    const quotes = texts.some((text) => text !== '' && reason.includes(text))
    throw new SettingError(where + (quotes ? 'cannot be read' : reason))
  }
}

/** One line of the generated settings reference. */
export interface SettingRow {
  readonly name: string
  readonly flag: string | undefined
  /** As text; undefined when there is none. */
  readonly default: string | undefined
  readonly help: string
  readonly secret: boolean
  readonly required: boolean
  readonly sharedName: boolean
}

export function describeSettings(definitions: SettingDefinitions): SettingRow[] {
  return Object.values(definitions).map((definition) => ({
    name: definition.name,
    flag: definition.flag,
    default:
      definition.defaultText ?? (definition.default === undefined ? undefined : show(definition, definition.default)),
    help: definition.help,
    secret: definition.secret === true,
    required: definition.required === true,
    sharedName: definition.sharedName === true,
  }))
}

function show(definition: Setting<unknown>, value: unknown): string {
  if (definition.secret === true) return '[secret]'
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (value instanceof Map) return JSON.stringify(Object.fromEntries(value))
  return JSON.stringify(value) ?? ''
}
