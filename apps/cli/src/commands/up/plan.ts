import { resolve } from 'node:path'
import { type GenesisBlock, type JsonObject, readPublicKeyFile } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { loadConfig } from '../../files/config.ts'
import { readText, refuseExisting, typed } from '../../files/files.ts'
import { loadVerifiedGenesis } from '../../files/genesis-file.ts'
import type { Options } from '../../arguments/options.ts'
import { type Choices, homeProblem, makeNetwork, readChoices } from '../init/settings-files.ts'
import { type HomeFiles, homeFiles, prepareHome } from '../init/home.ts'
import { serviceFile } from './service-files.ts'

export type StartMode = 'foreground' | 'background' | 'systemd' | 'compose'

/** What `up` will do, read before anything is created. */
export interface Plan {
  readonly mode: StartMode
  readonly choices: Choices
  readonly files: HomeFiles
  /** False when the folder has a network of an earlier run: its keys stay. */
  readonly isNew: boolean
  readonly sheetFile: string | undefined
}

export async function readPlan(context: CommandContext, options: Options): Promise<Plan> {
  const mode = readMode(options)
  const earlier = await findEarlier(context, options)
  const choices = earlier ?? (await readChoices(context, options))
  refuseFolderName(choices.home, mode)
  const files = homeFiles(choices.home)
  const sheet = options.text('out')
  const sheetFile = sheet === undefined ? undefined : resolve(context.cwd, sheet)
  if (sheetFile !== undefined) await refuseExisting([sheetFile], 'Choose another file with --out.')
  if (mode === 'systemd' || mode === 'compose') await refuseExisting([serviceFile(files, mode)])
  return { mode, choices, files, isNew: earlier === undefined, sheetFile }
}

/** The name is written to settings and service files. systemd joins lines at a backslash. */
function refuseFolderName(home: string, mode: StartMode): void {
  const problem = homeProblem(home)
  if (problem !== undefined) throw usageError(problem)
  if (mode === 'systemd' && home.includes('\\'))
    throw usageError('The folder of a systemd service must have a name without backslashes.')
}

function readMode(options: Options): StartMode {
  const given = (['systemd', 'compose', 'detach'] as const).filter((name) => options.isSet(name))
  const [first, second] = given
  if (second !== undefined) throw usageError(`Give --${first ?? ''} or --${second}, not both.`)
  return first === 'detach' ? 'background' : (first ?? 'foreground')
}

/** The network of an earlier run in this folder, so that a second run continues with its keys. */
async function findEarlier({ cwd }: CommandContext, options: Options): Promise<Choices | undefined> {
  const given = options.text('home')
  if (given === undefined) return undefined
  const home = resolve(cwd, given)
  const files = homeFiles(home)
  const texts = await Promise.all(
    [files.genesis, files.settings, files.config].map((file) => readText(file).catch(() => undefined)),
  )
  if (texts.includes(undefined)) return undefined
  const config = await loadConfig(home, given)
  const { network_name: network } = await loadVerifiedGenesis(files.genesis)
  const asked = options.text('name')
  if (asked !== undefined && asked !== network)
    throw new CommandError({
      code: 'home_exists',
      message: `${typed(cwd, home)} contains the network ${network}, not ${asked}.`,
      hint: 'Choose another folder with --home, or omit --name to start the network in this folder.',
    })
  for (const name of ['host', 'port'])
    if (options.isSet(name))
      throw usageError(
        `--${name} is only for a new network.`,
        `Change it in ${typed(cwd, files.settings)} and ${typed(cwd, files.config)}.`,
      )
  return { home, network, host: config.na.host ?? '127.0.0.1', port: config.na.port ?? '8443' }
}

export interface PreparedNetwork {
  readonly genesis: GenesisBlock
  readonly operatorKey: string
}

/** Creates the network, or loads the earlier one. A failure leaves nothing. */
export async function prepareNetwork(context: CommandContext, plan: Plan): Promise<PreparedNetwork> {
  const { choices, files, isNew } = plan
  if (!isNew) {
    const operatorKey = readPublicKeyFile(await readText(`${files.operator}.pub`))?.value ?? 'not in this folder'
    return { genesis: await loadVerifiedGenesis(files.genesis), operatorKey }
  }
  const { undo } = await prepareHome(choices.home, false, context.now())
  try {
    // A real network must be able to prove its decisions later.
    const { genesis, operator } = await makeNetwork(context, choices, files, 'EVIDENCE_STORE=on\n')
    return { genesis, operatorKey: operator.publicKey }
  } catch (error) {
    await undo()
    throw error
  }
}

export function planData({ choices, files, isNew, mode, sheetFile }: Plan): JsonObject {
  return {
    home: choices.home,
    network: choices.network,
    created: isNew,
    start: mode,
    files: { genesis: files.genesis, settings: files.settings, config: files.config },
    sheet: sheetFile ?? null,
  }
}
