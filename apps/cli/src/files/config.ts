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
  // How a node gets the evidence it joined with; docs/protocol/admission.md.
  evidence: ['rule', 'source', 'file'],
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
  readonly evidence: Values<Names<'evidence'>>
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

export const NO_CONFIG: Config = {
  file: undefined,
  network: {},
  paths: {},
  na: {},
  operator: {},
  evidence: {},
  warnings: [],
}

/** Its name in the current folder, and in the home of an authority or node. */
export const CONFIG_FILE = 'chancery.toml'

/** File below the home folder of the user that names the configuration chosen with `chancery use`. */
const PROFILE = ['.chancery', 'profile'] as const

export function profileFile(userHome: string): string {
  return join(userHome, ...PROFILE)
}

/** Returns the configuration file chosen with `chancery use`, or undefined. */
export async function findProfile(userHome: string): Promise<string | undefined> {
  const text = await readIfExists(profileFile(userHome))
  return text?.trim() || undefined
}

/**
 * Loads the first file of: --config, CHANCERY_CONFIG, ./chancery.toml, the file chosen with `chancery use`,
 * ~/.chancery/config.toml. A named or chosen file must exist.
 */
export async function loadConfig({ cwd, userHome, env, given }: ConfigSearch): Promise<Config> {
  const named = given ?? (env['CHANCERY_CONFIG'] || undefined)
  if (named !== undefined) return loadNamed(resolve(cwd, named), named)
  const near = join(cwd, CONFIG_FILE)
  const text = await readIfExists(near)
  if (text !== undefined) return readConfig(near, text)
  const chosen = await findProfile(userHome)
  if (chosen !== undefined)
    return loadNamed(
      chosen,
      chosen,
      'Choose another folder: chancery use <dir>. Or remove the default: chancery use --none',
    )
  const own = join(userHome, '.chancery', 'config.toml')
  const found = await readIfExists(own)
  return found === undefined ? NO_CONFIG : readConfig(own, found)
}

async function loadNamed(path: string, name: string, hint?: string): Promise<Config> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw toFailure(error, name, 'read', hint)
  })
  return readConfig(path, text)
}

/** A file that exists but cannot be read is an error, not a missing configuration. */
async function readIfExists(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined
    throw toFailure(error, path, 'read')
  })
}

/** Reads the text of one file; relative paths start at its folder. */
export function readConfig(file: string, text: string): Config {
  const document = parseToml(file, text)
  const warnings: string[] = []
  const found: Record<Section, Record<string, string>> = {
    network: {},
    paths: {},
    na: {},
    operator: {},
    evidence: {},
  }
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
