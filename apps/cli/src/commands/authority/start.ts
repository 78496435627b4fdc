import type { CommandContext } from '../../context.ts'
import { type Result, plural, withProgress } from '../../output/screen.ts'
import { type Arguments, type Options, flagName } from '../../arguments/options.ts'
import { loadService } from '../../process.ts'
import { resolve } from 'node:path'
import { CommandError, usageError } from '../../errors/failure.ts'
import { findSettingsFile } from '../../connection/target.ts'
import { refuseExisting } from '../../files/files.ts'
import { visible } from '@chancery/protocol'

/** Runs `authority start`: loads the service only here, because no other command needs it. */
export async function runAuthorityStart(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const args = await toStartArguments(context, options)
  if (options.isSet('detach')) return startDetached(context, args)
  const { commands } = await loadService(() => import('@chancery/authority'))
  return { exitCode: await commands.start(args) }
}

export interface StartArguments {
  readonly flags: Readonly<Record<string, string | readonly string[]>>
  readonly envFile?: string
}

/** Passes only options of the command line, because defaults must not override settings. */
export async function toStartArguments(context: CommandContext, options: Options): Promise<StartArguments> {
  const own = new Set(context.command.options.map(({ flags }) => `--${flagName(flags)}`))
  const flags: Record<string, string | readonly string[]> = {}
  for (const [flag, value] of options.entries()) {
    const isSetting = (own.has(flag) && flag !== '--env-file') || flag === '--genesis'
    if (isSetting && typeof value !== 'boolean') flags[flag] = value
  }
  const given = options.text('env-file')
  if (given !== undefined && options.isSet('home')) throw usageError('Give --home or --env-file, not both.')
  const envFile = given ?? (options.isSet('home') ? (await findSettings(context, options)).envFile : undefined)
  return envFile === undefined ? { flags } : { flags, envFile }
}

/** Starts the authority of a settings file as a process that continues, with what the folder says about it. */
async function startDetached(context: CommandContext, { flags, envFile }: StartArguments): Promise<Result> {
  const unused = Object.keys(flags).find((flag) => flag !== '--genesis')
  if (unused !== undefined)
    throw usageError(`${unused} cannot be combined with --detach.`, 'Set it in the settings file.')
  if (envFile === undefined) throw usageError('--detach needs --home or --env-file.', 'The log is written there.')
  const { startFolder } = await import('../up/services.ts')
  return startFolder(context, { kind: 'authority', settings: resolve(context.cwd, envFile) })
}

/** The settings of the service in the folder of the target; else the environment has them. */
export async function findSettings(context: CommandContext, options: Options): Promise<StartArguments> {
  const envFile = await findSettingsFile(context, options, 'authority.env')
  return envFile === undefined ? { flags: {} } : { flags: {}, envFile }
}

/** One step of a succession, with the settings of the new key. The switch needs all instances stopped. */
export async function runSuccessionStep(context: CommandContext, options: Options): Promise<Result> {
  const given = options.text('first-list')
  const firstList = given === undefined ? undefined : resolve(context.cwd, given)
  if (firstList !== undefined) await refuseExisting([firstList])
  const named = options.isSet('status') ? 'status' : (options.text('step') ?? 'switch')
  // To undo is to announce a block that names the former key.
  const step = (['announce', 'status', 'switch', 'retire'] as const).find((each) => each === named) ?? 'announce'
  const settings = await findSettings(context, options)
  const { commands } = await import('@chancery/authority')
  const isForced = options.isSet('yes')
  const args = { ...settings, step, isForced, ...(firstList === undefined ? {} : { firstList }) }
  return { exitCode: await commands.keySuccession(args) }
}

/** Runs `authority verify`: verifies every record of the database and changes nothing. */
export async function runAuthorityVerifyDb(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const settings = await findSettings(context, options)
  const outcome = await withProgress(context, 'Looking at every record', () => commands.verifyDatabase(settings))
  if (!outcome.ok) throw new CommandError({ code: outcome.code, message: outcome.message })
  const { counts, problems } = outcome
  const checked = Object.entries(counts).map(([kind, count]) => `${kind} ${count}`)
  const lines = [
    ...problems.map((problem) => visible(problem)),
    `Checked ${checked.join(', ')}: ${plural(problems.length, 'problem')}`,
  ]
  return { data: { counts, problems }, text: lines.join('\n'), exitCode: problems.length > 0 ? 1 : 0 }
}
