import { type SettingSources, type SettingsResult, StartError, readProcessSettings } from '@chancery/service-kit'
import { type AuthoritySettings, readAuthoritySettings } from '../settings/authority-settings.ts'
import { KeyUnavailableError } from '../signing/key-unavailable.ts'
import { MigrationFailedError, NewerSchemaError, OldSchemaError } from '../database/migrate.ts'
import { UnfinishedCopyError } from '../database/copy/unfinished-copy.ts'

/** Arguments of a command on the authority's own machine. */
export interface CommandArguments {
  /** Command-line flags with their dashes. */
  readonly flags: Readonly<Record<string, string | readonly string[]>>
  readonly envFile?: string
}

/** Reads settings. Prints every problem and returns undefined when there are any. */
export async function readOrReport<Settings>(
  args: CommandArguments,
  read: (sources: SettingSources) => SettingsResult<Settings>,
): Promise<Settings | undefined> {
  const { values, problems } = await readProcessSettings(args, read)
  explain(problems)
  return values
}

export function readSettingsOrExplain(args: CommandArguments): Promise<AuthoritySettings | undefined> {
  return readOrReport(args, readAuthoritySettings)
}

/** True for an error that an operator can fix, as its message describes. */
export function isOperatorError(error: unknown): error is Error {
  return [
    StartError,
    KeyUnavailableError,
    NewerSchemaError,
    OldSchemaError,
    MigrationFailedError,
    UnfinishedCopyError,
  ].some((kind) => error instanceof kind)
}

/** Prints one line per problem, each naming the setting to fix. */
export function explain(problems: readonly string[]): void {
  for (const problem of problems) process.stderr.write(`chancery: the authority does not start: ${problem}\n`)
}
