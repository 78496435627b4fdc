import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
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

/** Where a target comes from, for people. */
export interface Config {
  /** Undefined when only options name it. */
  readonly source?: string
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

/** Loads the configuration of a folder. */
export async function loadConfig(folder: string, name = folder): Promise<Config> {
  const path = join(folder, CONFIG_FILE)
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw toFailure(error, join(name, CONFIG_FILE), 'read')
  })
  return readConfig(path, text)
}

/** A file that exists but cannot be read is an error, not a missing configuration. */
export async function readIfExists(path: string): Promise<string | undefined> {
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
  const paths = Object.entries(found.paths).map(([name, path]) => [name, insideOf(file, `paths.${name}`, path)])
  return { file, ...found, paths: Object.fromEntries(paths) as Config['paths'], warnings }
}

/** A folder from another person must not make the program sign with a key of this user. */
function insideOf(file: string, name: string, path: string): string {
  const found = resolve(dirname(file), path)
  const way = relative(dirname(file), found)
  if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way))
    throw malformed(file, `${name} is outside of this folder`)
  return found
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
  const hint = 'Fix the file, or give another folder with --home.'
  return new CommandError({ code: 'invalid_configuration', message: `${file}: ${problem}.`, hint })
}

function isSection(name: string): name is Section {
  return Object.hasOwn(SECTIONS, name)
}
