import { createLog, runService } from '@chancery/service-kit'
import { startAuthority } from './app.ts'
import { explain, isExpected, readSettingsOrExplain } from './host-settings.ts'
import type { HostArguments } from './host-settings.ts'

/** Runs an authority in the foreground until a signal; gives the exit code. */
export async function start(args: HostArguments): Promise<number> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return 1
  const format = settings.logFormat ?? (process.stdout.isTTY ? 'text' : 'json')
  const log = createLog({ level: settings.logLevel, format })
  return runService({
    log,
    drainSeconds: settings.drainSeconds,
    start: async () => {
      try {
        return await startAuthority(settings, { log })
      } catch (error) {
        if (isExpected(error)) explain([error.message])
        throw error
      }
    },
  })
}
