import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { HttpGuard, sendJson } from './http.ts'
import { CODES, errorBody } from './messages.ts'
import type { ToolGuard } from './tool-guard.ts'
import type { Upstream } from './upstream.ts'

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** Serves until the process is stopped. */
export async function guardHttp(
  context: CommandContext,
  guard: ToolGuard,
  { upstream, address }: { readonly upstream: Upstream; readonly address: ListenAddress },
): Promise<void> {
  const stop = context.stop()
  const proxy = new HttpGuard(guard, upstream, context.note)
  const server = createServer((request, response) => {
    const refusal = refusalOf(request, upstream.url)
    if (refusal === undefined) return void proxy.handle(request, response)
    return sendJson(response, refusal[0], errorBody(null, CODES.invalid, refusal[1]))
  })
  server.listen(address.port, address.host)
  await once(server, 'listening').catch((error: unknown) => {
    const message = `Cannot listen on ${address.host}:${address.port}.`
    throw new CommandError({ code: 'cannot_listen', message, hint: 'Choose another port.' }, { cause: error })
  })
  const { port } = server.address() as AddressInfo
  context.stdout.write(`listening on http://${address.host}:${port}${upstream.url.pathname}\n`)
  if (!stop.aborted) await once(stop, 'abort')
  server.close()
  server.closeAllConnections()
  await proxy.idle()
}

/** A web page must not reach a guard at a loopback address, neither directly nor by a name that resolves to it. */
function refusalOf({ method = '', url = '', headers }: IncomingMessage, upstream: URL): [number, string] | undefined {
  const { host = '', origin } = headers
  if (!isLoopbackHost(`http://${host}`)) return [403, 'This host is not allowed.']
  if (origin !== undefined && !isLoopbackHost(origin)) return [403, 'This origin is not allowed.']
  if (url !== `${upstream.pathname}${upstream.search}`) return [404, 'There is no such endpoint.']
  return ['GET', 'POST', 'DELETE'].includes(method) ? undefined : [405, 'This method is not allowed.']
}

function isLoopbackHost(address: string): boolean {
  return URL.canParse(address) && LOOPBACK.has(new URL(address).hostname)
}
