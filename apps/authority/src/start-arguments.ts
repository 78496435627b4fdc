import { readFile } from 'node:fs/promises'
import { SettingsError } from '@chancery/service-kit'
import type { SettingSources } from '@chancery/service-kit'

export interface StartArguments {
  /** Command-line flags with their dashes. */
  readonly flags: Readonly<Record<string, string | readonly string[]>>
  readonly envFile?: string
}

/** What `read` makes of the settings; undefined when something is wrong with them, which is then told. */
export async function readOrExplain<Settings>(
  { flags, envFile }: StartArguments,
  read: (sources: SettingSources) => Settings,
): Promise<Settings | undefined> {
  try {
    const sources: SettingSources = { flags, env: process.env }
    if (envFile === undefined) return read(sources)
    return read({ ...sources, envFile: { path: envFile, text: await readFile(envFile, 'utf8') } })
  } catch (error) {
    if (error instanceof SettingsError) explain(error.problems)
    else explain([`--env-file: ${envFile ?? ''} cannot be read`])
    return undefined
  }
}

/** One line per problem, each naming the setting to mend. */
export function explain(problems: readonly string[]): void {
  for (const problem of problems) process.stderr.write(`chancery: the authority does not start: ${problem}\n`)
}
