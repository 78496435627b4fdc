import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Arguments, Options } from '../../arguments/options.ts'
import { openForeign } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { CONFIG_FILE, loadConfig } from '../../files/config.ts'
import { typed } from '../../files/files.ts'
import { genesisFingerprint, loadVerifiedGenesis } from '../../files/genesis-file.ts'
import { type SavedNetwork, type SavedNetworks, loadSavedNetworks, saveNetworks } from '../../files/saved-networks.ts'
import { type Result, table } from '../../output/screen.ts'

/** Runs `use`: saves, selects, lists or removes networks of this user. */
export async function runUse(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const [given] = args.list('network')
  const removed = options.text('remove')
  if (given !== undefined && removed !== undefined) throw usageError('Give a network or --remove, not both.')
  const saved = await loadSavedNetworks(context)
  if (removed !== undefined) return remove(context, saved, removed)
  if (given === undefined) return list(context, saved)
  const found = await findNetwork(context, options, saved, given)
  await saveNetworks(context, { selected: found.name, networks: { ...saved.networks, [found.name]: found.network } })
  await noteOverride(context)
  const answers = found.url === undefined ? '' : ` ${await describeServer(context, found.url, found.name)}`
  return {
    data: { selected: found.name, ...found.network },
    ids: [found.name],
    text: `${context.style.good('Using')} ${found.name} from now on.${answers}`,
  }
}

interface Found {
  readonly name: string
  readonly network: SavedNetwork
  readonly url: string | undefined
}

/** A folder, the name of a saved network, or with --url and --genesis a network elsewhere. */
async function findNetwork(
  context: CommandContext,
  options: Options,
  { networks }: SavedNetworks,
  given: string,
): Promise<Found> {
  const { cwd } = context
  const [url, genesis, key] = [options.text('url'), options.text('genesis'), options.text('operator-key')]
  if (url !== undefined && genesis !== undefined) {
    const file = resolve(cwd, genesis)
    const block = await loadVerifiedGenesis(file)
    if (block.network_name !== given)
      throw usageError(`${genesis} is the block of ${block.network_name}, not of ${given}.`)
    const operator = key === undefined ? {} : { operator_key: resolve(cwd, key) }
    return { name: given, network: { url, genesis: file, ...operator }, url }
  }
  if (url !== undefined || genesis !== undefined) throw usageError('Give --url and --genesis together.')
  const saved = Object.hasOwn(networks, given) ? networks[given] : undefined
  const folder = resolve(cwd, given)
  const isFolder = await stat(join(folder, CONFIG_FILE)).then(
    (found) => found.isFile(),
    () => false,
  )
  if (!isFolder && saved !== undefined) return { name: given, network: saved, url: saved.url }
  if (!isFolder)
    throw new CommandError({
      code: 'no_configuration',
      message: `There is no network in ${given}.`,
      hint: 'Give the folder that chancery init or chancery join made, or the name of a saved network.',
      exitCode: 2,
    })
  const { network, paths } = await loadConfig(folder, given)
  const block = paths.genesis === undefined ? undefined : await loadVerifiedGenesis(paths.genesis)
  const name = block?.network_name ?? network.name
  if (name === undefined) throw usageError(`${given} does not name its network.`, 'Give another folder.')
  const fingerprint = block === undefined ? {} : { fingerprint: genesisFingerprint(block) }
  return { name, network: { home: folder, ...fingerprint }, url: network.na_endpoint }
}

/** Whether the server answers, and is this network. `use` works without it. */
async function describeServer(context: CommandContext, url: string, name: string): Promise<string> {
  const served = await openForeign({ ...context, showProgress: false }, url)
    .ask((client) => client.sovereign.genesis())
    .catch((error: unknown) => {
      if (error instanceof Error) return undefined
      throw error
    })
  if (served === undefined) return `Nothing answers at ${url} now.`
  if (served.network_name !== name) return `Attention: ${url} is the authority of ${served.network_name}.`
  return `It answers at ${url}.`
}

/** What takes precedence over the choice, which can surprise. */
async function noteOverride({ env, cwd, note }: CommandContext): Promise<void> {
  const set = ['CHANCERY_HOME', 'CHANCERY_NETWORK'].find((name) => (env[name] ?? '') !== '')
  if (set !== undefined) return note(`${set} is set and takes precedence over this choice`)
  const isThere = await stat(join(cwd, CONFIG_FILE)).then(
    () => true,
    () => false,
  )
  if (isThere) note(`./${CONFIG_FILE} takes precedence in this folder`)
}

async function remove(context: CommandContext, saved: SavedNetworks, name: string): Promise<Result> {
  const { [name]: found, ...networks } = saved.networks
  if (found === undefined) throw usageError(`No network ${name} is saved.`, `Saved: ${namesOf(saved)}`)
  await saveNetworks(context, { selected: saved.selected === name ? undefined : saved.selected, networks })
  return { data: { removed: name }, ids: [name], text: `${context.style.good('Removed')} ${name}. Its files stay.` }
}

function namesOf({ networks }: SavedNetworks): string {
  return `${Object.keys(networks).join(', ') || 'none'}.`
}

function list({ cwd, style }: CommandContext, { selected, networks }: SavedNetworks): Result {
  const items = Object.entries(networks).map(([name, each]) => ({ name, selected: name === selected, ...each }))
  const data = { selected: selected ?? null, items }
  if (items.length === 0) return { data, ids: [], text: 'No network is saved. Save one: chancery use ./folder' }
  const rows = items.map(({ name, home, url }) => [
    name === selected ? '*' : '',
    name,
    home === undefined ? (url ?? '-') : typed(cwd, home),
  ])
  return { data, ids: items.map(({ name }) => name), text: table(['', 'NETWORK', 'WHERE'], rows, style) }
}
