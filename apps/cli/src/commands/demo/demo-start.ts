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

/** A port that the demo will use, and its use. */
export interface DemoPort {
  readonly port: number
  readonly use: string
}

/** Checks the ports first, so that a demo that cannot run leaves no files. */
export async function requireFreePorts(host: string, ports: readonly DemoPort[]): Promise<void> {
  const first = ports[0]?.port ?? 0
  const more = ports.length === 1 ? '' : ` It uses ${ports.length} ports in a row, from the given one.`
  for (const { port, use } of ports) {
    const problem = await findPortProblem(host, port)
    if (problem === undefined) continue
    throw new CommandError({
      code: 'port_in_use',
      message: `Port ${port} cannot be used for the ${use}: ${problem}.`,
      hint: `Stop the program that listens there, or choose another port: --port ${suggestPort(first)}.${more}`,
    })
  }
}

function suggestPort(port: number): number {
  return port + 1000 < 65_000 ? port + 1000 : port - 1000
}

async function findPortProblem(host: string, port: number): Promise<string | undefined> {
  const server = createServer()
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    return portProblem(error)
  }
  server.close()
  await once(server, 'close')
  return undefined
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
