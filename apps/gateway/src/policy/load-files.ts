import type { Instant } from '@chancery/protocol'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { type RecordedFiles, recordFiles } from './tls-files.ts'
import { loadConfiguration } from './load-configuration.ts'
import type { Configuration, ConfigurationProblem, LoadedConfiguration } from './load-configuration.ts'
import { WRONG_SETTINGS } from '@chancery/service-kit'

/** The configuration cannot be used. Every problem names its setting and path, never a value. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  /** What a file contains may be replaced while a supervisor starts the service again. */
  readonly exitCode: number
  readonly problems: readonly ConfigurationProblem[]

  constructor(problems: readonly ConfigurationProblem[]) {
    super(problems.map(problemText).join('\n'))
    this.problems = problems
    this.exitCode = problems.every(({ path }) => path === '') ? WRONG_SETTINGS : 1
  }
}

export function problemText({ setting, path, message }: ConfigurationProblem): string {
  return `${setting}: ${path === '' ? '' : `${path} `}${message}`
}

/** A configuration with the files it was read from, so that worker processes can read the same. */
export interface LoadedFiles {
  readonly configuration: Configuration
  readonly files: RecordedFiles
  readonly loadedAt: Instant
}

export interface LoadResult extends Pick<LoadedConfiguration, 'problems' | 'warnings'> {
  readonly loaded: LoadedFiles | undefined
}

/** Reads every file that the settings name, and keeps what was read. */
export function loadFiles(settings: GatewaySettings, now: Instant): LoadResult {
  const { read, files } = recordFiles()
  const { configuration, problems, warnings } = loadConfiguration(settings, now, read)
  return { problems, warnings, loaded: configuration && { configuration, files, loadedAt: now } }
}
