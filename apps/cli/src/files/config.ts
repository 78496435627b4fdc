import { dirname, join, resolve } from 'node:path'
import { readFile } from 'node:fs/promises'
import { TomlError, parse } from 'smol-toml'
import { CommandError } from '../errors/failure.ts'
import { errorCode, toFailure } from './files.ts'

/** The sections and names of protocol/core 25. Paths are absolute once read. */
const SECTIONS = {
  network: ['name', 'version', 'na_endpoint'],
  paths: [
    'home',
    'genesis',
    'na_private_key',
    'operator_private_key',
    'operator_public_key',
    'node_private_key',
    'node_certificate',
    'policy',
    'db',
  ],
  na: ['key_id', 'host', 'port'],
  operator: ['key_id'],
} as const

type Section = keyof typeof SECTIONS
type Names<Name extends Section> = (typeof SECTIONS)[Name][number]
type Values<Name extends string> = { readonly [Each in Name]?: string }

export interface Config {
  /** The file that was read; undefined when there is none. */
  readonly file: string | undefined
  readonly network: Values<Names<'network'>>
  readonly paths: Values<Names<'paths'>>
  /** The port as text, like every value of a command line. */
  readonly na: Values<Names<'na'>>
  readonly operator: Values<Names<'operator'>>
  /** Unknown names, usually misspelt. */
  readonly warnings: readonly string[]
}

export interface ConfigSearch {
  readonly cwd: string
  readonly userHome: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** --config */
  readonly given: string | undefined
}

export const NO_CONFIG: Config = { file: undefined, network: {}, paths: {}, na: {}, operator: {}, warnings: [] }

/** Its name in the current folder, and in the home of an authority or node. */
export const CONFIG_FILE = 'chancery.toml'

/** The first file of: --config, CHANCERY_CONFIG, ./chancery.toml, ~/.chancery/config.toml. A named file must exist. */
export async function loadConfig({ cwd, userHome, env, given }: ConfigSearch): Promise<Config> {
  const named = given ?? (env['CHANCERY_CONFIG'] || undefined)
  if (named !== undefined) {
    const path = resolve(cwd, named)
    return readConfig(
      path,
      await readFile(path, 'utf8').catch((error: unknown) => Promise.reject(toFailure(error, named, 'read'))),
    )
  }
  for (const path of [join(cwd, CONFIG_FILE), join(userHome, '.chancery', 'config.toml')]) {
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined
      // A file that exists but cannot be read is an error, not a missing configuration.
      throw toFailure(error, path, 'read')
    })
    if (text !== undefined) return readConfig(path, text)
  }
  return NO_CONFIG
}

/** Reads the text of one file; relative paths start at its folder. */
export function readConfig(file: string, text: string): Config {
  const document = parseToml(file, text)
  const warnings: string[] = []
  const found: Record<Section, Record<string, string>> = { network: {}, paths: {}, na: {}, operator: {} }
  for (const [section, content] of Object.entries(document)) {
    if (!isSection(section)) warnings.push(`${file}: [${section}] is not a known section`)
    else found[section] = readSection(file, section, content, warnings)
  }
  const paths = Object.entries(found.paths).map(([name, path]) => [name, resolve(dirname(file), path)])
  return { file, ...found, paths: Object.fromEntries(paths) as Config['paths'], warnings }
}

function readSection(file: string, section: Section, content: unknown, warnings: string[]): Record<string, string> {
  if (typeof content !== 'object' || content === null) throw malformed(file, `${section} must be a section`)
  const known: readonly string[] = SECTIONS[section]
  const values: Record<string, string> = {}
  for (const [name, value] of Object.entries(content)) {
    if (!known.includes(name)) warnings.push(`${file}: ${section}.${name} is not a known name`)
    else values[name] = readValue(file, `${section}.${name}`, value)
  }
  return values
}

function readValue(file: string, name: string, value: unknown): string {
  if (name === 'na.port' && typeof value === 'number' && Number.isInteger(value)) return String(value)
  if (typeof value !== 'string' || value === '') throw malformed(file, `${name} must be a text`)
  return value
}

function parseToml(file: string, text: string): Record<string, unknown> {
  try {
    return parse(text, { unsafeKeyBehaviour: 'throw', maxDepth: 8 })
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    throw malformed(file, `line ${error.line}, column ${error.column} is not TOML`)
  }
}

function malformed(file: string, problem: string): CommandError {
  const hint = 'Fix the file, or give another one with --config.'
  return new CommandError({ code: 'invalid_configuration', message: `${file}: ${problem}.`, hint })
}

function isSection(name: string): name is Section {
  return Object.hasOwn(SECTIONS, name)
}
