import { mkdir, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { CONFIG_FILE, findProfile, loadConfig, profileFile, readConfig } from '../../files/config.ts'
import { OWNER_ONLY, readText, replaceFile, toFailure, typed } from '../../files/files.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { type Result, fields } from '../../output/screen.ts'
import { packageVersion } from '../../process.ts'

/** Runs `version`. */
export async function runVersion(_context: CommandContext, _args: Arguments, _options: Options): Promise<Result> {
  const [version, node] = [packageVersion(), process.versions.node]
  return { data: { version, node }, text: `chancery ${version}, Node.js ${node}` }
}

/** Runs `use`: stores, removes or shows the default configuration of this user. */
export async function runUse(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const [given] = args.list('dir')
  const isNone = options.isSet('none')
  if (given !== undefined && isNone) throw usageError('Give a folder or --none, not both.')
  if (isNone) return remove(context)
  return given === undefined ? show(context, options) : store(context, given)
}

async function store(context: CommandContext, given: string): Promise<Result> {
  const { cwd, userHome, style } = context
  const file = await configIn(resolve(cwd, given), given)
  const { network } = readConfig(file, await readText(file))
  const profile = profileFile(userHome)
  await mkdir(dirname(profile), { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw toFailure(error, dirname(profile), 'made')
  })
  await replaceFile(profile, `${file}\n`, OWNER_ONLY)
  await noteOverride(context, file)
  const name = network.name ?? network.na_endpoint ?? typed(cwd, file)
  return {
    data: { config: file, network: network.name ?? null, url: network.na_endpoint ?? null },
    text: `${style.good('Using')} ${name} from now on, with ${typed(cwd, file)}. Check it with: chancery nodes`,
  }
}

/** Accepts the folder or its configuration file. */
async function configIn(path: string, given: string): Promise<string> {
  const found = await stat(path).catch((error: unknown) => {
    throw toFailure(error, given, 'read')
  })
  if (found.isFile()) return path
  const file = join(path, CONFIG_FILE)
  const isThere = await stat(file).then(
    (each) => each.isFile(),
    () => false,
  )
  if (isThere) return file
  throw new CommandError({
    code: 'no_configuration',
    message: `${given} has no ${CONFIG_FILE}.`,
    hint: 'Give the folder that chancery init or chancery join made.',
  })
}

/** A file in the current folder or the environment takes precedence, which can surprise. */
async function noteOverride(context: CommandContext, file: string): Promise<void> {
  if ((context.env['CHANCERY_CONFIG'] ?? '') !== '')
    return context.note('CHANCERY_CONFIG is set and takes precedence over this default')
  const near = join(context.cwd, CONFIG_FILE)
  const isThere = await stat(near).then(
    () => true,
    () => false,
  )
  if (isThere && near !== file) context.note(`./${CONFIG_FILE} takes precedence in this folder`)
}

async function remove({ userHome, style }: CommandContext): Promise<Result> {
  const chosen = await findProfile(userHome)
  await rm(profileFile(userHome), { force: true })
  const text = chosen === undefined ? 'There was no default.' : `${style.good('Removed')} the default ${chosen}.`
  return { data: { removed: chosen ?? null }, text }
}

async function show(context: CommandContext, options: Options): Promise<Result> {
  const chosen = await findProfile(context.userHome)
  const config = await loadConfig({ ...context, given: options.text('config') })
  const { file, network } = config
  const data = {
    config: file ?? null,
    default: chosen ?? null,
    network: network.name ?? null,
    url: network.na_endpoint ?? null,
  }
  if (file === undefined) return { data, text: 'No configuration is in use. Choose one with: chancery use <dir>' }
  const rows: [string, string][] = [
    ['configuration', file],
    ['network', network.name ?? '-'],
    ['authority', network.na_endpoint ?? '-'],
    ['default', chosen ?? 'none; set it with: chancery use <dir>'],
  ]
  return { data, text: fields(rows, context.style) }
}
