import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '@chancery/sdk'
import { addressOf } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { OWNER_ONLY, typed, writeNewFile } from '../../files/files.ts'
import type { Result } from '../../output/result.ts'
import type { Plan } from './plan.ts'
import { programWords } from './service-files.ts'

const READY_SECONDS = 60

export function logFile({ choices }: Plan): string {
  return join(choices.home, 'authority.log')
}

export function pidFile({ choices }: Plan): string {
  return join(choices.home, 'authority.pid')
}

/** Starts the authority in this process and prints the last part when it is ready. */
export async function startHere(context: CommandContext, plan: Plan, end: () => string): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const ended = commands.start({ flags: {}, envFile: plan.files.settings, logFile: logFile(plan) })
  const outcome = await Promise.race([waitUntilReady(plan), ended.then((): 'ended' => 'ended')])
  if (outcome === 'late') {
    // The authority runs in this process: without a signal the command would not end.
    process.kill(process.pid, 'SIGTERM')
    await ended
  }
  if (outcome !== 'ready') throw notReady(context, plan, outcome)
  context.stdout.write(end())
  return { exitCode: await ended }
}

/** Starts the authority as a process that goes on after this command, and waits until it is ready. */
export async function startInBackground(context: CommandContext, plan: Plan): Promise<void> {
  const [program = '', ...words] = programWords()
  const log = await open(logFile(plan), 'a', OWNER_ONLY)
  const child = spawn(program, [...words, 'authority', 'start', '--env-file', plan.files.settings], {
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  })
  const ended = once(child, 'exit').then((): 'ended' => 'ended')
  const outcome = await Promise.race([waitUntilReady(plan), ended])
  await log.close()
  if (outcome !== 'ready') {
    child.kill()
    throw notReady(context, plan, outcome)
  }
  // The file of an earlier start names a process that has ended: its port was free.
  await rm(pidFile(plan), { force: true })
  await writeNewFile(pidFile(plan), `${child.pid}\n`, OWNER_ONLY)
  child.unref()
}

function notReady({ cwd }: CommandContext, plan: Plan, outcome: 'ended' | 'late'): CommandError {
  return new CommandError({
    code: 'authority_not_ready',
    message: `The authority ${outcome === 'ended' ? 'ended during its start' : `was not ready after ${READY_SECONDS} s`}. The network and its keys are complete.`,
    hint: `Read ${typed(cwd, logFile(plan))} and fix the cause. Then run the same command with --home only: the keys stay.`,
  })
}

async function waitUntilReady({ choices }: Plan): Promise<'ready' | 'late'> {
  const client = createClient({ url: addressOf(choices.host, choices.port), retry: false, timeoutMs: 2000 })
  const last = performance.now() + READY_SECONDS * 1000
  while (performance.now() < last) {
    const isReady = await client.health.readyz().then(
      () => true,
      () => false,
    )
    if (isReady) return 'ready'
    await pause(100)
  }
  return 'late'
}
