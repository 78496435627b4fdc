import { createClient } from '@chancery/sdk'
import { addressOf } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { logFile, notReady, readyOrEnded } from './background.ts'
import type { StartedService } from './background.ts'
import type { Plan } from './plan.ts'

/** The authority of a plan, as a service to start. */
export function authorityOf({ choices, files }: Plan): StartedService {
  const client = createClient({ url: addressOf(choices.host, choices.port), retry: false, timeoutMs: 2000 })
  return {
    name: 'authority',
    folder: choices.home,
    settings: files.settings,
    isReady: () =>
      client.health.readyz().then(
        () => true,
        () => false,
      ),
    afterFailure: {
      complete: 'The network and its keys are complete.',
      again: 'Then run the same command with --home only: the keys stay.',
    },
  }
}

/** Starts the authority in this process and prints the last part when it is ready. */
export async function startHere(context: CommandContext, plan: Plan, end: () => string): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const service = authorityOf(plan)
  const ended = commands.start({ flags: {}, envFile: plan.files.settings, logFile: logFile(service) })
  const outcome = await readyOrEnded(service, ended)
  if (outcome === 'late') {
    // The authority runs in this process: without a signal the command would not end.
    process.kill(process.pid, 'SIGTERM')
    await ended
  }
  if (outcome !== 'ready') throw notReady(context, service, outcome)
  context.stdout.write(end())
  return { exitCode: await ended }
}
