import { readFile } from 'node:fs/promises'
import { SettingsError, StartError } from '@chancery/service-kit'
import type { SettingSources } from '@chancery/service-kit'
import { readAuthoritySettings } from '../settings/authority-settings.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import { KeyUnavailableError } from '../signing/key-unavailable.ts'
import { MigrationFailed, NewerSchemaError } from '../database/migrate.ts'
import { UnfinishedCopyError } from '../database/copy/unfinished-copy.ts'

/** What a command on the authority's own machine is given. */
export interface CommandArguments {
  /** Command-line flags with their dashes. */
  readonly flags: Readonly<Record<string, string | readonly string[]>>
  readonly envFile?: string
}

/** What `read` makes of the settings; undefined when they are not usable, and then every problem was said. */
export async function readOrReport<Settings>(
  { flags, envFile }: CommandArguments,
  read: (sources: SettingSources) => Settings,
): Promise<Settings | undefined> {
  try {
    return read(await readSources({ flags, ...(envFile === undefined ? {} : { envFile }) }))
  } catch (error) {
    if (error instanceof SettingsError) explain(error.problems)
    else explain([`--env-file: ${envFile ?? ''} cannot be read`])
    return undefined
  }
}

export async function readSources({ flags, envFile }: CommandArguments): Promise<SettingSources> {
  const sources: SettingSources = { flags, env: process.env }
  if (envFile === undefined) return sources
  return { ...sources, envFile: { path: envFile, text: await readFile(envFile, 'utf8') } }
}

export function readSettingsOrExplain(args: CommandArguments): Promise<AuthoritySettings | undefined> {
  return readOrReport(args, readAuthoritySettings)
}

/** A reason to stop that an operator can mend; its message says how. */
export function isOperatorError(error: unknown): error is Error {
  return [StartError, KeyUnavailableError, NewerSchemaError, MigrationFailed, UnfinishedCopyError].some(
    (kind) => error instanceof kind,
  )
}

/** One line per problem, each naming the setting to mend. */
export function explain(problems: readonly string[]): void {
  for (const problem of problems) process.stderr.write(`chancery: the authority does not start: ${problem}\n`)
}
