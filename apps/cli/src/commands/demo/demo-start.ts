import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '@chancery/sdk'
import { CommandError, usageError } from '../../errors/failure.ts'
import { errorCode } from '../../files/files.ts'

const READY_SECONDS = 30

export function readNumber(text: string, name: string, max: number): string {
  if (!/^[1-9][0-9]{0,4}$/.test(text) || Number(text) > max)
    throw usageError(`--${name} must be a number from 1 to ${max}.`)
  return text
}

/** Checks the port first, so that a demo that cannot run leaves no files. */
export async function requireFreePort(host: string, port: number): Promise<void> {
  const server = createServer()
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    const hint = 'Stop the program that listens there, or choose another with --port.'
    throw new CommandError({
      code: 'port_in_use',
      message: `Port ${port} cannot be used: ${portProblem(error)}.`,
      hint,
    })
  }
  server.close()
  await once(server, 'close')
}

function portProblem(error: unknown): string {
  const code = errorCode(error)
  return code === 'EADDRINUSE' ? 'another program uses it' : `system error ${code ?? 'unknown'}`
}

export function refuseEarlyEnd(): never {
  throw new CommandError({
    code: 'demo_ended',
    message: 'The demo authority ended during its start. See its log above.',
  })
}

export async function waitUntilReady(url: string): Promise<void> {
  const client = createClient({ url, retry: false, timeoutMs: 2000 })
  const end = performance.now() + READY_SECONDS * 1000
  for (;;) {
    const isReady = await client.health.readyz().then(
      () => true,
      () => false,
    )
    if (isReady) return
    if (performance.now() > end)
      throw new CommandError({
        code: 'demo_not_ready',
        message: `The authority did not become ready within ${READY_SECONDS} s.`,
      })
    await pause(100)
  }
}
