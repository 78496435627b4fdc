import { resolve } from 'node:path'
import { shellWord } from '../../output/shell-word.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Progress, type Result, withProgress } from '../../output/screen.ts'
import { type StartArguments, toStartArguments } from './start.ts'
import { REVOCATION_REASONS, readInstant } from '@chancery/protocol'

const MAX_SHOWN = 5

/** Hint for commands that copy rows: an instance that writes at the same time would mix in its rows. */
export const STOP_INSTANCES =
  'Stop every instance, or close their connections to the database. Then run the same command again.'

/** Without a mark an older database looks like the newest one. */
export const NOT_COMPARED = 'Nothing was compared: there is no high-water mark.'

/** Returns the settings of a host command. `own` are options that the service does not have. */
export function toHostArguments(
  context: Pick<CommandContext, 'command'>,
  options: Options,
  own: readonly string[],
): StartArguments {
  const { flags, ...rest } = toStartArguments(context, options)
  const settings = Object.entries(flags).filter(([flag]) => !own.includes(flag))
  return { ...rest, flags: Object.fromEntries(settings) }
}

/** Returns the given settings for the command line of a hint. */
export function settingsWords({ flags, envFile }: StartArguments): string {
  const given = [...(envFile === undefined ? [] : [['--env-file', envFile] as const]), ...Object.entries(flags)]
  return given.flatMap(([flag, value]) => [value].flat().map((each) => ` ${flag} ${shellWord(each)}`)).join('')
}

/** Returns the absolute path of an option, relative to the working directory. */
export function pathOf({ cwd }: Pick<CommandContext, 'cwd'>, options: Options, name: string): string | undefined {
  const given = options.text(name)
  return given === undefined ? undefined : resolve(cwd, given)
}

/** Shows each step that the authority reports on the progress line. */
export function progressText(
  progress: Progress,
): (far: { readonly step: string; readonly table: string; readonly done: number; readonly total: number }) => void {
  return ({ step, table, done, total }) => {
    const share = total === 0 ? '' : ` ${table}: ${done} of ${total}`
    progress.update(`${step[0]?.toUpperCase()}${step.slice(1)}${share}`)
  }
}

/** Returns the value of an outcome, or throws an error with the first problems and a hint. */
export function successOf<Value extends { readonly ok: true }>(
  outcome:
    | Value
    | { readonly ok: false; readonly code: string; readonly message: string; readonly problems: readonly string[] },
  hints: Readonly<Record<string, string>>,
): Value {
  if (outcome.ok) return outcome
  const { code, message, problems } = outcome
  const more = problems.length > MAX_SHOWN ? [`… ${problems.length - MAX_SHOWN} more`] : []
  throw new CommandError({ code, message, problems: [...problems.slice(0, MAX_SHOWN), ...more], hint: hints[code] })
}

export function counted(records: Readonly<Record<string, number>>): string {
  return Object.entries(records)
    .map(([kind, count]) => `${kind} ${count}`)
    .join(', ')
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

/** Runs `authority resign-lists`: signs lists again that a wrong clock dated in the future. */
export async function runAuthorityResignLists(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const now = readInstant(options.required('now'))
  if (now === undefined)
    throw usageError(
      '--now is not a time in ISO 8601.',
      'Give the present time from another clock: --now 2026-05-01T12:00:00Z',
    )
  return { exitCode: await commands.resignLists({ ...toHostArguments(context, options, ['--now']), now }) }
}

const HINTS: Readonly<Record<string, string>> = {
  settings_invalid: 'Fix what the message names, then run the same command again. No part of a failed migration stays.',
}

/** Runs `authority migrate`: the migrations of this release, without a service. */
export async function runAuthorityMigrate(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const outcome = await withProgress(context, 'Migrating', () =>
    commands.migrateSchema(toStartArguments(context, options)),
  )
  const { from, to } = successOf(outcome, HINTS)
  const text =
    from === to
      ? `Schema version ${to}: nothing to migrate.`
      : `${context.style.good('Migrated:')} schema version ${from} to ${to}.`
  return { data: { from, to }, text }
}

/** Runs `authority recover`: raises a restored database above its high-water mark. */
export async function runAuthorityRecover(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const sources = readSources(context, options)
  const [crl, feed] = [pathOf(context, options, 'crl'), pathOf(context, options, 'feed')]
  if (sources === undefined) {
    const exitCode = await commands.recover({
      ...toHostArguments(context, options, ['--crl', '--feed', '--without-mark', '--unknown', '--reason']),
      withoutMark: options.isSet('without-mark'),
      ...(crl === undefined ? {} : { crl }),
      ...(feed === undefined ? {} : { feed }),
    })
    return { exitCode }
  }
  if ((crl ?? feed) !== undefined || options.isSet('without-mark'))
    throw usageError(
      '--presented, --audit and --certificates cannot be combined with --crl, --feed and --without-mark.',
      'Recover first. Then run the command with --presented, --audit or --certificates.',
    )
  const own = ['--audit', '--certificates', '--unknown', '--reason']
  return { exitCode: await commands.recoverUnknown({ ...toHostArguments(context, options, own), ...sources }) }
}

const ACTIONS = ['list', 'revoke', 'adopt'] as const

/** Returns the records to compare the database with, or undefined without such options. */
function readSources(context: CommandContext, options: Options) {
  const [audit, certificates] = [pathOf(context, options, 'audit'), pathOf(context, options, 'certificates')]
  const presented = options.isSet('presented')
  if (audit === undefined && certificates === undefined && !presented) return undefined
  const action = options.textOrDefault('unknown')
  const unknown = ACTIONS.find((each) => each === action)
  if (unknown === undefined) throw usageError(`--unknown must be one of ${ACTIONS.join(', ')}.`)
  const word = options.textOrDefault('reason')
  const reason = REVOCATION_REASONS.find((each) => each === word)
  if (reason === undefined) throw usageError(`--reason must be one of ${REVOCATION_REASONS.join(', ')}.`)
  return {
    unknown,
    reason,
    presented,
    ...(audit === undefined ? {} : { audit }),
    ...(certificates === undefined ? {} : { certificates }),
  }
}
