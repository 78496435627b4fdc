import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { waitUntilPassed } from '../../connection/wait-until.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { OWNER_ONLY, typed, writeNewFile } from '../../files/files.ts'
import { programWords } from './service-files.ts'

const READY_SECONDS = 60

/** A service that a command starts and then waits for. */
export interface StartedService {
  /** Also the command that starts it, and the name of its log and of the file with its process id. */
  readonly name: 'authority' | 'gateway'
  /** Absolute. The log and the process id are written here. */
  readonly folder: string
  /** Absolute. */
  readonly settings: string
  readonly isReady: () => Promise<boolean>
  /** What is complete even if the start fails, and how to start again. */
  readonly afterFailure: { readonly complete: string; readonly again: string }
}

type Place = Pick<StartedService, 'name' | 'folder'>

export function logFile({ name, folder }: Place): string {
  return join(folder, `${name}.log`)
}

export function pidFile({ name, folder }: Place): string {
  return join(folder, `${name}.pid`)
}

/** Starts a service as a process that continues after this command, and waits until it is ready. */
export async function startInBackground(context: CommandContext, service: StartedService): Promise<void> {
  const [program = '', ...words] = programWords()
  const log = await open(logFile(service), 'a', OWNER_ONLY)
  const child = spawn(program, [...words, service.name, 'start', '--env-file', service.settings], {
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  })
  const outcome = await readyOrEnded(service, once(child, 'exit'))
  await log.close()
  if (outcome !== 'ready') {
    child.kill()
    throw notReady(context, service, outcome)
  }
  // The file of an earlier start names a process that has ended: its port was free.
  await rm(pidFile(service), { force: true })
  await writeNewFile(pidFile(service), `${child.pid}\n`, OWNER_ONLY)
  child.unref()
}

/** Describes where the log of a service in the background is, and how to stop it. */
export function describeBackground({ cwd }: CommandContext, place: Place): string {
  const [log, pid] = [typed(cwd, logFile(place)), typed(cwd, pidFile(place))]
  return `The ${place.name} runs. Its log is ${log}. Stop it with: kill $(cat ${pid})`
}

/** Waits until a service is ready. Returns `ended` when the service ends before, and `late` after 60 s. */
export async function readyOrEnded(
  { isReady }: Pick<StartedService, 'isReady'>,
  end: Promise<unknown>,
): Promise<'ready' | 'late' | 'ended'> {
  let hasEnded = false
  const ended = end.then((): 'ended' => {
    hasEnded = true
    return 'ended'
  })
  const check = async (): Promise<void> => {
    // After the end nothing is polled any more: the command would stay until the time limit.
    if (!hasEnded && !(await isReady())) throw new Error('not ready')
  }
  const ready = waitUntilPassed(check, READY_SECONDS).then((isPassed) => (isPassed ? 'ready' : 'late'))
  return Promise.race([ready, ended])
}

export function notReady({ cwd }: CommandContext, service: StartedService, outcome: 'ended' | 'late'): CommandError {
  const { name, afterFailure } = service
  const what = outcome === 'ended' ? 'ended during its start' : `was not ready after ${READY_SECONDS} s`
  return new CommandError({
    code: `${name}_not_ready`,
    message: `The ${name} ${what}. ${afterFailure.complete}`,
    hint: `Read ${typed(cwd, logFile(service))} and fix the cause. ${afterFailure.again}`,
  })
}
