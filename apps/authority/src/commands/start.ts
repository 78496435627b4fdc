import { createLog, runService } from '@chancery/service-kit'
import { startAuthority } from '../app.ts'
import { explain, isOperatorError, readOrReport } from './command-settings.ts'
import type { CommandArguments } from './command-settings.ts'
import { noteAuthoritySources, readAuthoritySettings } from '../settings/authority-settings.ts'

/** Runs an authority in the foreground until a signal; gives the exit code. */
export async function start(args: CommandArguments): Promise<number> {
  let notes: readonly string[] = []
  const settings = await readOrReport(args, (sources) => {
    notes = noteAuthoritySources(sources)
    return readAuthoritySettings(sources)
  })
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
