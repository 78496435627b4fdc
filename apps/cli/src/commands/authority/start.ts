import type { CommandContext } from '../../context.ts'
import { type Result, plural, withProgress } from '../../output/screen.ts'
import { type Arguments, type Options, flagName } from '../../arguments/options.ts'
import { loadService } from '../../process.ts'
import { resolve } from 'node:path'
import { CommandError, usageError } from '../../errors/failure.ts'
import { refuseExisting } from '../../files/files.ts'
import { visible } from '@chancery/protocol'

/** Runs `authority start`: loads the service only here, because no other command needs it. */
export async function runAuthorityStart(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await loadService(() => import('@chancery/authority'))
  return { exitCode: await commands.start(toStartArguments(context, options)) }
}

export interface StartArguments {
  readonly flags: Readonly<Record<string, string | readonly string[]>>
  readonly envFile?: string
}

/**
 * Passes only options of the command line, because defaults must not override settings. Global options are not passed.
 */
export function toStartArguments({ command }: Pick<CommandContext, 'command'>, options: Options): StartArguments {
  const own = new Set(command.options.map(({ flags }) => `--${flagName(flags)}`))
  const flags: Record<string, string | readonly string[]> = {}
  for (const [flag, value] of options.entries()) {
    if (own.has(flag) && flag !== '--env-file' && typeof value !== 'boolean') flags[flag] = value
  }
  const envFile = options.text('env-file')
  return envFile === undefined ? { flags } : { flags, envFile }
}

/** Runs `authority public-key`: prints the public key of the configured key provider. */
export async function runAuthorityPublicKey(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  return { exitCode: await commands.publicKey(toStartArguments(context, options)) }
}

const STEPS = ['announce', 'status', 'switch', 'retire'] as const

/** Runs `authority key-succession` with the settings of the new key. The switch needs all instances stopped. */
export async function runAuthorityKeySuccession(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const given = options.text('first-list')
  const firstList = given === undefined ? undefined : resolve(context.cwd, given)
  if (firstList !== undefined) await refuseExisting([firstList])
  const { flags, ...rest } = toStartArguments(context, options)
  const { '--first-list': _list, '--step': _step, '--yes': _yes, ...settings } = flags
  const step = STEPS.find((each) => each === options.textOrDefault('step'))
  if (step === undefined) throw usageError(`--step is one of ${STEPS.join(', ')}.`)
  const { commands } = await import('@chancery/authority')
  const isForced = options.isSet('yes')
  const args = { ...rest, flags: settings, step, isForced, ...(firstList === undefined ? {} : { firstList }) }
  return { exitCode: await commands.keySuccession(args) }
}

/** Runs `authority verify-db`: verifies every record of the database and changes nothing. */
export async function runAuthorityVerifyDb(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const outcome = await withProgress(context, 'Looking at every record', () =>
    commands.verifyDatabase(toStartArguments(context, options)),
  )
  if (!outcome.ok) throw new CommandError({ code: outcome.code, message: outcome.message })
  const { counts, problems } = outcome
  const checked = Object.entries(counts).map(([kind, count]) => `${kind} ${count}`)
  const lines = [
    ...problems.map((problem) => visible(problem)),
    `Checked ${checked.join(', ')}: ${plural(problems.length, 'problem')}`,
  ]
  return { data: { counts, problems }, text: lines.join('\n'), exitCode: problems.length > 0 ? 1 : 0 }
}
