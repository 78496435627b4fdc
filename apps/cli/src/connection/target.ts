import { stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Options } from '../arguments/options.ts'
import type { CommandContext } from '../context.ts'
import { CommandError, usageError } from '../errors/failure.ts'
import { CONFIG_FILE, type Config, NO_CONFIG, loadConfig, readConfig, readIfExists } from '../files/config.ts'
import { errorCode, toFailure, typed } from '../files/files.ts'
import { genesisFingerprint, loadVerifiedGenesis } from '../files/genesis-file.ts'
import { type SavedNetwork, loadSavedNetworks } from '../files/saved-networks.ts'

type Place = Pick<CommandContext, 'cwd' | 'env' | 'userHome'>

/**
 * The target of a command, from the first source that there is: options, environment, the current folder, the choice of
 * use. Sources are never mixed.
 */
export async function findConfig(context: CommandContext, options: Options): Promise<Config> {
  const [home, network] = [options.text('home'), options.text('network')]
  const config = await find(context, options, home, network)
  for (const warning of config.warnings) context.note(warning)
  if (home !== undefined && network !== undefined && config.network.name !== network)
    throw usageError(
      `${home} is of ${config.network.name ?? 'no network'}, not of ${network}.`,
      'Give --home or --network.',
    )
  if (options.isSet('verbose') && config.source !== undefined)
    context.note(`${config.network.name ?? 'the network'} at ${config.network.na_endpoint ?? '-'} (${config.source})`)
  return config
}

async function find(
  context: Place,
  options: Options,
  home: string | undefined,
  network: string | undefined,
): Promise<Config> {
  const { cwd, env } = context
  if (home !== undefined) return loadHome(context, home, '--home')
  if (network !== undefined) return loadSaved(context, network, '--network')
  if (options.isSet('genesis') && options.isSet('url')) return NO_CONFIG
  const [folder, named] = [env['CHANCERY_HOME'] ?? '', env['CHANCERY_NETWORK'] ?? '']
  if (folder !== '') return loadHome(context, folder, 'CHANCERY_HOME')
  if (named !== '') return loadSaved(context, named, 'CHANCERY_NETWORK')
  const near = join(cwd, CONFIG_FILE)
  const text = await readIfExists(near)
  if (text !== undefined) return { ...readConfig(near, text), source: `./${CONFIG_FILE}` }
  const { selected } = await loadSavedNetworks(context)
  return selected === undefined ? NO_CONFIG : loadSaved(context, selected, 'chancery use')
}

/** A folder; or a settings file of one, for a command on the host of an authority. */
async function loadHome({ cwd }: Place, given: string, source: string): Promise<Config> {
  const path = resolve(cwd, given)
  const found = await stat(path).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw toFailure(error, given, 'read')
    throw noFolder(given)
  })
  const folder = found.isFile() ? dirname(path) : path
  const text = await readIfExists(join(folder, CONFIG_FILE))
  if (text === undefined) return { ...NO_CONFIG, paths: { home: folder }, source }
  const config = readConfig(join(folder, CONFIG_FILE), text)
  return { ...config, paths: { ...config.paths, home: folder }, source }
}

export function noFolder(given: string): CommandError {
  const name =
    basename(given)
      .toUpperCase()
      .replaceAll(/[^A-Z0-9._:-]/g, '-') || 'NETWORK'
  return new CommandError({
    code: 'no_folder',
    message: `There is no folder ${given}.`,
    hint: `Create a network there: chancery init --home ${given} --name ${name}`,
    exitCode: 2,
  })
}

export async function loadSaved(context: Place, name: string, source: string): Promise<Config> {
  const { networks } = await loadSavedNetworks(context)
  const saved = Object.hasOwn(networks, name) ? networks[name] : undefined
  if (saved !== undefined) return { ...(await readSaved(context, name, saved)), source }
  const names = Object.keys(networks)
  throw usageError(
    `No network ${name} is saved.`,
    names.length === 0 ? 'Save one: chancery use ./folder' : `Saved: ${names.join(', ')}.`,
  )
}

async function readSaved(context: Place, name: string, saved: SavedNetwork): Promise<Config> {
  if (saved.home === undefined)
    return {
      ...NO_CONFIG,
      network: { name, ...(saved.url === undefined ? {} : { na_endpoint: saved.url }) },
      paths: {
        ...(saved.genesis === undefined ? {} : { genesis: saved.genesis }),
        ...(saved.operator_key === undefined ? {} : { operator_private_key: saved.operator_key }),
      },
    }
  const config = await loadConfig(saved.home)
  const { genesis } = config.paths
  // A folder that another person replaced must not become the selected network.
  if (saved.fingerprint !== undefined && genesis !== undefined) {
    const found = genesisFingerprint(await loadVerifiedGenesis(genesis))
    if (found !== saved.fingerprint)
      throw new CommandError({
        code: 'genesis_mismatch',
        message: `${typed(context.cwd, genesis)} has changed: it is ${found}, and use saved ${saved.fingerprint}.`,
        hint: `If you know why: chancery use ${typed(context.cwd, saved.home)}`,
      })
  }
  return { ...config, paths: { ...config.paths, home: saved.home } }
}

/** The settings file of the service in the folder of the target; undefined when only the environment has settings. */
export async function findSettingsFile(
  context: CommandContext,
  options: Options,
  name: 'authority.env' | 'gateway.env',
): Promise<string | undefined> {
  const given = options.text('home')
  const path = given === undefined ? undefined : resolve(context.cwd, given)
  const found = path === undefined ? undefined : await stat(path).catch(() => undefined)
  if (found?.isFile() === true) return path
  if (given !== undefined && found === undefined) throw noFolder(given)
  // The environment of a service names its settings itself; only an explicit folder counts there.
  const marker = name === 'authority.env' ? 'GENESIS_FILE' : 'GATEWAY_POLICY_FILE'
  if (given === undefined && (context.env[marker] ?? '') !== '') return undefined
  const { paths } = await findConfig(context, options)
  const folder = path ?? paths.home
  if (folder === undefined) return undefined
  const file = join(folder, name)
  const isThere = (await stat(file).catch(() => undefined)) !== undefined
  return isThere ? file : undefined
}
