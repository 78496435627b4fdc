import { once } from 'node:events'
import { createServer } from 'node:net'
import { errorCode } from '../files/files.ts'

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
