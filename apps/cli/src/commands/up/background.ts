import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { visible } from '@chancery/protocol'
import { waitUntilPassed } from '../../connection/ports.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { OWNER_ONLY, typed } from '../../files/files.ts'
import { type Place, type ServiceName, logFile, noteRunning } from './running.ts'
import { programWords } from './service-files.ts'

const READY_SECONDS = 60

/** A service that a command starts and then waits for. */
export interface StartedService {
  /** Also the command that starts it, and the name of its log and of the file with its process id. */
  readonly name: ServiceName
  /** Absolute. The log and the process id are written here. */
  readonly folder: string
  /** Absolute: the settings file, or the folder of a node. */
  readonly settings: string
  /** Where it answers; null for a node. */
  readonly address: string | null
  readonly isReady: () => Promise<boolean>
  /** The reasons for which it runs but must not serve. An operator ends them; waiting does not. */
  readonly findHalts?: () => Promise<readonly string[]>
  /** What is complete even if the start fails, and how to start again. */
  readonly afterFailure: { readonly complete: string; readonly again: string }
}

/** Starts a service as a process that continues after this command, and waits until it is ready. */
export async function startInBackground(context: CommandContext, service: StartedService): Promise<void> {
  const [program = '', ...words] = programWords()
  const log = await open(logFile(service), 'a', OWNER_ONLY)
  const start = service.name === 'node' ? ['run', '--home'] : ['start', '--env-file']
  const child = spawn(program, [...words, service.name, ...start, service.settings], {
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  })
  const outcome = await readyOrEnded(service, once(child, 'exit'))
  await log.close()
  if (outcome !== 'ready') {
    child.kill()
    throw notReady(context, service, outcome)
  }
  await noteRunning(service, child.pid ?? 0, service.address)
  child.unref()
}

/** Describes where the log of a service in the background is, and how to stop it. */
export function describeBackground({ cwd }: CommandContext, place: Place): string {
  const log = typed(cwd, logFile(place))
  return `The ${place.name} runs. Its log is ${log}. Stop it with: chancery down --home ${typed(cwd, place.folder)}`
}

export type StartOutcome = 'ready' | 'late' | 'ended' | { readonly halts: readonly string[] }

/** A clock that was not compared yet also halts, for a moment. */
const HALTED_CHECKS = 10

/** Waits until a service is ready. Returns `ended` when the service ends before, and `late` after 60 s. */
export async function readyOrEnded(
  { isReady, findHalts }: Pick<StartedService, 'isReady' | 'findHalts'>,
  end: Promise<unknown>,
): Promise<StartOutcome> {
  let hasEnded = false
  const ended = end.then((): 'ended' => {
    hasEnded = true
    return 'ended'
  })
  let [halts, times]: [readonly string[], number] = [[], 0]
  const check = async (): Promise<void> => {
    // After the end nothing is polled any more: the command would stay until the time limit.
    if (hasEnded || (await isReady())) return
    halts = (await findHalts?.()) ?? []
    times = halts.length === 0 ? 0 : times + 1
    if (times < HALTED_CHECKS) throw new Error('not ready')
  }
  const ready = waitUntilPassed(check, READY_SECONDS).then((isPassed): StartOutcome =>
    times >= HALTED_CHECKS ? { halts } : isPassed ? 'ready' : 'late',
  )
  return Promise.race([ready, ended])
}

export function notReady(
  { cwd }: CommandContext,
  service: StartedService,
  outcome: Exclude<StartOutcome, 'ready'>,
): CommandError {
  const { name, afterFailure } = service
  if (typeof outcome === 'object')
    return new CommandError({
      code: `${name}_halted`,
      message: `The ${name} started, but does not serve: ${outcome.halts.map((halt) => visible(halt)).join(', ')}.`,
      hint: `What to do: chancery doctor --home ${typed(cwd, service.folder)}`,
    })
  const what = outcome === 'ended' ? 'ended during its start' : `was not ready after ${READY_SECONDS} s`
  return new CommandError({
    code: `${name}_not_ready`,
    message: `The ${name} ${what}. ${afterFailure.complete}`,
    hint: `Read ${typed(cwd, logFile(service))} and fix the cause. ${afterFailure.again}`,
  })
}
