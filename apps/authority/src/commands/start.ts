import { openSync } from 'node:fs'
import { DescriptorOutput, createLog, readProcessSettings, runService } from '@chancery/service-kit'
import { startAuthority } from '../app.ts'
import { explain, isOperatorError } from './command-settings.ts'
import type { CommandArguments } from './command-settings.ts'
import { readAuthoritySettings } from '../settings/authority-settings.ts'

export interface StartArguments extends CommandArguments {
  /** Appends the log to this file instead of standard output, where a command prints other text. */
  readonly logFile?: string
}

/** Runs an authority in the foreground until a signal. Returns the exit code. */
export async function start(args: StartArguments): Promise<number> {
  const { values: settings, problems, notes } = await readProcessSettings(args, readAuthoritySettings)
  explain(problems)
  if (settings === undefined) return 1
  const { logFile } = args
  const format = settings.logFormat ?? (process.stdout.isTTY && logFile === undefined ? 'text' : 'json')
  const file = logFile === undefined ? {} : { destination: new DescriptorOutput(openSync(logFile, 'a', 0o600)) }
  const log = createLog({ level: settings.logLevel, format, ...file })
  for (const note of notes) log.warn(note)
  return runService({
    log,
    drainSeconds: settings.drainSeconds,
    start: async () => {
      try {
        return await startAuthority(settings, { log })
      } catch (error) {
        if (isOperatorError(error)) explain([error.message])
        throw error
      }
    },
  })
}
