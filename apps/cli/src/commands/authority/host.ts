import { resolve } from 'node:path'
import type { Options } from '../../arguments/options.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { typed } from '../../files/files.ts'
import type { Progress } from '../../output/screen.ts'

const MAX_SHOWN = 5

/** Hint for commands that copy rows: an instance that writes at the same time would mix in its rows. */
export const STOP_INSTANCES =
  'Stop every instance, or close their connections to the database. Then run the same command again.'

/** Without a mark an older database looks like the newest one. */
export const NOT_COMPARED = 'Nothing was compared: there is no high-water mark.'

/** The folder of a command for the command line of a hint. */
export function homeWords({ cwd }: Pick<CommandContext, 'cwd'>, options: Options): string {
  const home = options.text('home')
  return home === undefined ? '' : ` --home ${typed(cwd, resolve(cwd, home))}`
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
