import { dirname } from 'node:path'
import { member } from '@chancery/protocol'
import { RefusedError } from '@chancery/sdk'
import { createAuthorityClient } from '@chancery/sdk/authority'
import { addressOf } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { type StartedService, notReady, readyOrEnded } from './background.ts'
import { logFile } from './running.ts'
import type { Plan } from './plan.ts'

/** An authority with these settings at this address, as a service to start. */
export function authorityAt(settings: string, host: string, port: string): StartedService {
  const address = addressOf(host, port)
  const client = createAuthorityClient({ url: address, retry: false, timeoutMs: 2000 })
  return {
    name: 'authority',
    folder: dirname(settings),
    settings,
    address,
    isReady: () =>
      client.health.readyz().then(
        () => true,
        () => false,
      ),
    findHalts: () => client.health.readyz().then(() => [], haltsOf),
    afterFailure: {
      complete: 'The network and its keys are complete.',
      again: 'Then run the same command with --home only: the keys stay.',
    },
  }
}

export function authorityOf({ choices, files }: Plan): StartedService {
  return authorityAt(files.settings, choices.host, choices.port)
}

/** The reasons of the readiness document, whatever their names are. */
function haltsOf(error: unknown): readonly string[] {
  const halts = error instanceof RefusedError ? member(error.details, 'signing_halted') : undefined
  return Array.isArray(halts) ? halts.filter((halt) => typeof halt === 'string') : []
}

/** Starts the authority in this process and prints the last part when it is ready. */
export async function startHere(context: CommandContext, plan: Plan, end: () => string): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const service = authorityOf(plan)
  const ended = commands.start({ flags: {}, envFile: plan.files.settings, logFile: logFile(service) })
  const outcome = await readyOrEnded(service, ended)
  if (outcome !== 'ready' && outcome !== 'ended') {
    // The authority runs in this process: without a signal the command would not end.
    process.kill(process.pid, 'SIGTERM')
    await ended
  }
  if (outcome !== 'ready') throw notReady(context, service, outcome)
  context.stdout.write(end())
  return { exitCode: await ended }
}
