import { resolve } from 'node:path'
import { visible } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { Failure } from '../../failure.ts'
import type { Options } from '../../options.ts'
import type { Progress } from '../../output/progress.ts'
import { toStartArguments } from './start.ts'
import type { StartArguments } from './start.ts'

const MAX_SHOWN = 5

/** For whoever copies rows into a database: what an instance writes meanwhile would stand among them. */
export const STOP_INSTANCES = 'Stop every instance, or cut them off from the database; then the same line again.'

/** What a command on the authority's database was told besides the settings: `own` are options the service does not know. */
export function toHostArguments(
  context: Pick<CommandContext, 'command'>,
  options: Options,
  own: readonly string[],
): StartArguments {
  const { flags, ...rest } = toStartArguments(context, options)
  const settings = Object.entries(flags).filter(([flag]) => !own.includes(flag))
  return { ...rest, flags: Object.fromEntries(settings) }
}

/** The folder or file of an option, from where the command was called. */
export function pathOf({ cwd }: Pick<CommandContext, 'cwd'>, options: Options, name: string): string | undefined {
  const given = options.text(name)
  return given === undefined ? undefined : resolve(cwd, given)
}

/** Each step as the authority reports it, on one line. */
export function saying(
  progress: Progress,
): (far: { readonly step: string; readonly table: string; readonly done: number; readonly total: number }) => void {
  return ({ step, table, done, total }) => {
    const share = total === 0 ? '' : ` ${table}: ${done} of ${total}`
    progress.say(`${step[0]?.toUpperCase()}${step.slice(1)}${share}`)
  }
}

/** The value of an outcome, or a failure with the first problems and what to do about it. */
export function successOf<Value extends { readonly ok: true }>(
  outcome:
    | Value
    | { readonly ok: false; readonly code: string; readonly message: string; readonly problems: readonly string[] },
  hints: Readonly<Record<string, string>>,
): Value {
  if (outcome.ok) return outcome
  const shown = outcome.problems.slice(0, MAX_SHOWN).map((problem) => `\n  ${visible(problem)}`)
  const more = outcome.problems.length > MAX_SHOWN ? `\n  … ${outcome.problems.length - MAX_SHOWN} more` : ''
  const message = `${outcome.message}${shown.join('')}${more}`
  throw new Failure({ code: outcome.code, message, hint: hints[outcome.code] })
}

export function counted(records: Readonly<Record<string, number>>): string {
  return Object.entries(records)
    .map(([kind, count]) => `${kind} ${count}`)
    .join(', ')
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
