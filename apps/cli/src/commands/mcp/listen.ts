import { once } from 'node:events'
import { type IncomingMessage, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { CLIENT_SECRET_HEADER, isSecret, loadClientSecret } from './client-secret.ts'
import { HttpGuard, sendJson } from './http.ts'
import { CODES, errorBody } from './messages.ts'
import type { ToolGuard } from './tool-guard.ts'
import type { Upstream } from './upstream.ts'

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

interface HttpTarget {
  readonly upstream: Upstream
  readonly address: ListenAddress
  /** File with the secret of the clients. */
  readonly secretFile: string
}

/** Serves until the process is stopped. */
export async function guardHttp(
  context: CommandContext,
  guard: ToolGuard,
  { upstream, address, secretFile }: HttpTarget,
): Promise<void> {
  const stop = context.stop()
  const secret = await loadClientSecret(secretFile)
  const proxy = new HttpGuard(guard, upstream, context.note)
  const server = createServer((request, response) => {
    const refusal = refusalOf(request, upstream.url, secret)
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
  context.note(`clients send the header ${CLIENT_SECRET_HEADER} with the content of ${secretFile}`)
  if (!stop.aborted) await once(stop, 'abort')
  server.close()
  server.closeAllConnections()
  await proxy.idle()
}

/**
 * A web page must not reach a guard at a loopback address, neither directly nor by a name that resolves to it. Another
 * program of this machine must not use the rights of the node: a client proves that it may read the files of the node.
 */
function refusalOf(
  { method = '', url = '', headers }: IncomingMessage,
  upstream: URL,
  secret: string,
): [number, string] | undefined {
  const { host = '', origin } = headers
  if (!isLoopbackHost(`http://${host}`)) return [403, 'This host is not allowed.']
  if (origin !== undefined && !isLoopbackHost(origin)) return [403, 'This origin is not allowed.']
  if (!isSecret(headers[CLIENT_SECRET_HEADER.toLowerCase()], secret))
    return [403, `The header ${CLIENT_SECRET_HEADER} is missing or wrong. The guard names its file at the start.`]
  if (url !== `${upstream.pathname}${upstream.search}`) return [404, 'There is no such endpoint.']
  return ['GET', 'POST', 'DELETE'].includes(method) ? undefined : [405, 'This method is not allowed.']
}

function isLoopbackHost(address: string): boolean {
  return URL.canParse(address) && LOOPBACK.has(new URL(address).hostname)
}
