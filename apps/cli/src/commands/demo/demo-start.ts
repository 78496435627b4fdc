import { createAuthorityClient } from '@chancery/sdk/authority'
import { type PortProblem, findPortProblem, waitUntilPassed } from '../../connection/ports.ts'
import { CommandError, usageError } from '../../errors/failure.ts'

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
      message: `Port ${port} cannot be used for the ${use}: ${PROBLEMS[problem]}.`,
      hint: `Stop the program that listens there, or choose another port: --port ${suggestPort(first)}.${more}`,
    })
  }
}

function suggestPort(port: number): number {
  return port + 1000 < 65_000 ? port + 1000 : port - 1000
}

const PROBLEMS: Readonly<Record<PortProblem, string>> = {
  in_use: 'another program uses it',
  not_permitted: 'this user may not listen on it',
  no_such_address: 'this machine does not have the address',
  not_usable: 'the system refuses it',
}

/** Waits until the authority is ready. Fails when it ends before. */
export function waitUntilReady(url: string, ended: Promise<number>): Promise<void> {
  const client = createAuthorityClient({ url, retry: false, timeoutMs: 2000 })
  return waitUntil('authority', () => client.health.readyz(), ended)
}

/** Waits until the check of a service passes. Fails when the service ends before. */
export async function waitUntil(service: string, check: () => Promise<unknown>, ended: Promise<number>): Promise<void> {
  const refuseEarlyEnd = (): never => {
    throw new CommandError({
      code: 'demo_ended',
      message: `The ${service} of the demo ended during its start.`,
      hint: 'See its log above. Start the demo again with --reset if its files are damaged.',
    })
  }
  if (await Promise.race([waitUntilPassed(check, READY_SECONDS), ended.then(refuseEarlyEnd)])) return
  throw new CommandError({
    code: 'demo_not_ready',
    message: `The ${service} did not become ready within ${READY_SECONDS} s.`,
    hint: 'See its log above, and start the demo again.',
  })
}
