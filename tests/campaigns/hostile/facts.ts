import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readJson } from '@chancery/protocol'

/** Another system that a policy asks. It never answers callers whose name begins with `silent`. */
export interface FactServer {
  readonly origin: string
  /** The most questions of one caller that were open at the same time. */
  mostOpen(caller: string): number
  stop(): Promise<void>
}

export async function openFactServer(): Promise<FactServer> {
  const [open, most] = [new Map<string, number>(), new Map<string, number>()]
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const { input } = readJson(body) as unknown as { readonly input: { readonly caller: string } }
      const { caller } = input
      if (!caller.startsWith('silent')) return void response.end('{"result":true}')
      const now = (open.get(caller) ?? 0) + 1
      open.set(caller, now)
      most.set(caller, Math.max(now, most.get(caller) ?? 0))
      response.on('close', () => open.set(caller, (open.get(caller) ?? 0) - 1))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mostOpen: (caller) => most.get(caller) ?? 0,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
