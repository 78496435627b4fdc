import { mkdir } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { TomlError, parse, stringify } from 'smol-toml'
import type { Context } from '../context.ts'
import { CommandError } from '../errors/failure.ts'
import { readIfExists } from './config.ts'
import { OWNER_ONLY, replaceFile, toFailure } from './files.ts'

type Place = Pick<Context, 'env' | 'userHome'>

/** A network that `use` has saved: a folder, or address and genesis block of a network elsewhere. */
export interface SavedNetwork {
  readonly home?: string
  readonly fingerprint?: string
  readonly url?: string
  readonly genesis?: string
  readonly operator_key?: string
}

export interface SavedNetworks {
  readonly selected: string | undefined
  readonly networks: Readonly<Record<string, SavedNetwork>>
}

const MEMBERS = ['home', 'fingerprint', 'url', 'genesis', 'operator_key'] as const

/** Only `use` writes this file. */
export function savedNetworksFile({ env, userHome }: Place): string {
  const folder = env['CHANCERY_CONFIG_DIR'] || join(env['XDG_CONFIG_HOME'] || join(userHome, '.config'), 'chancery')
  return join(folder, 'config.toml')
}

export async function loadSavedNetworks(place: Place): Promise<SavedNetworks> {
  const file = savedNetworksFile(place)
  const text = await readIfExists(file)
  return text === undefined ? { selected: undefined, networks: {} } : readSavedNetworks(file, text)
}

function readSavedNetworks(file: string, text: string): SavedNetworks {
  const fail = (name: string, problem: string): CommandError => {
    const line = text.split('\n').findIndex((each) => each.includes(name)) + 1
    const message = `${file}, line ${line}: ${problem}.`
    return new CommandError({ code: 'invalid_configuration', message, hint: 'Correct the line, or remove it.' })
  }
  const networks: Record<string, SavedNetwork> = {}
  let selected: string | undefined
  for (const [name, value] of Object.entries(parseToml(file, text))) {
    if (name === 'selected' && typeof value === 'string') selected = value
    else if (name === 'networks' && isTable(value))
      for (const [network, members] of Object.entries(value)) {
        if (!isTable(members)) throw fail(network, `networks.${network} is no section`)
        for (const [member, each] of Object.entries(members)) {
          if (!MEMBERS.some((known) => known === member)) throw fail(member, `${member} is not a known name`)
          const isPath = ['home', 'genesis', 'operator_key'].includes(member)
          if (typeof each !== 'string' || (isPath && !isAbsolute(each))) throw fail(member, `${member} is no full path`)
        }
        networks[network] = members as SavedNetwork
      }
    else throw fail(name, `${name} is not a known name`)
  }
  return { selected, networks }
}

function parseToml(file: string, text: string): Record<string, unknown> {
  try {
    return parse(text, { unsafeKeyBehaviour: 'throw', maxDepth: 8 })
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const message = `${file}, line ${error.line}: this is not TOML.`
    throw new CommandError({ code: 'invalid_configuration', message, hint: 'Correct the line, or remove it.' })
  }
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export async function saveNetworks(place: Place, { selected, networks }: SavedNetworks): Promise<void> {
  const file = savedNetworksFile(place)
  await mkdir(dirname(file), { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw toFailure(error, dirname(file), 'made')
  })
  await replaceFile(file, stringify({ ...(selected === undefined ? {} : { selected }), networks }), OWNER_ONLY)
}
