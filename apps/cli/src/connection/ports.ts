import { once } from 'node:events'
import { createServer } from 'node:net'
import { errorCode } from '../files/files.ts'
import { setTimeout as pause } from 'node:timers/promises'

/** Repeats a check until it does not fail. Returns false when it still fails after the given time. */
export async function waitUntilPassed(check: () => Promise<unknown>, seconds: number): Promise<boolean> {
  const end = performance.now() + seconds * 1000
  for (;;) {
    const hasPassed = await check().then(
      () => true,
      () => false,
    )
    if (hasPassed || performance.now() > end) return hasPassed
    await pause(100)
  }
}

export type PortProblem = 'in_use' | 'not_permitted' | 'no_such_address' | 'not_usable'

const PROBLEMS: Readonly<Record<string, PortProblem>> = {
  EADDRINUSE: 'in_use',
  EACCES: 'not_permitted',
  EPERM: 'not_permitted',
  EADDRNOTAVAIL: 'no_such_address',
  ENOTFOUND: 'no_such_address',
}

/** Returns why a service cannot listen on this address and port, or undefined. Listens for a moment to find out. */
export async function findPortProblem(host: string, port: number): Promise<PortProblem | undefined> {
  const server = createServer()
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    return PROBLEMS[errorCode(error) ?? ''] ?? 'not_usable'
  }
  server.close()
  await once(server, 'close')
  return undefined
}
