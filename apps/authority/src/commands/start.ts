import { createLog, readProcessSettings, runService } from '@chancery/service-kit'
import { startAuthority } from '../app.ts'
import { explain, isOperatorError } from './command-settings.ts'
import type { CommandArguments } from './command-settings.ts'
import { readAuthoritySettings } from '../settings/authority-settings.ts'

/** Runs an authority in the foreground until a signal. Returns the exit code. */
export async function start(args: CommandArguments): Promise<number> {
  const { values: settings, problems, notes } = await readProcessSettings(args, readAuthoritySettings)
  explain(problems)
  if (settings === undefined) return 1
  const format = settings.logFormat ?? (process.stdout.isTTY ? 'text' : 'json')
  const log = createLog({ level: settings.logLevel, format })
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
