import type { Instant } from '@chancery/protocol'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { type RecordedFiles, recordFiles } from './files.ts'
import { type Configuration, type LoadedConfiguration, loadConfiguration } from './load-configuration.ts'

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
