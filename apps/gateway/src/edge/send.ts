import type { IncomingMessage, ServerResponse } from 'node:http'
import { GATEWAY_HEADERS } from '@chancery/contract'
import { hasBody } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'

/** How long what is still being sent is read and thrown away after a refusal, so that the refusal can be read. */
const LINGER_MS = 1000

/** Names and values in turn, the form the platform sends with the least work. */
const FIXED_PAIRS: readonly string[] = Object.entries(GATEWAY_HEADERS).flat()

/** Where an answer has a rule of its own for a header, its own counts. */
function pairsWith(headers: { readonly [name: string]: string }): string[] {
  const names = Object.keys(headers)
  const pairs = names.some((name) => name in GATEWAY_HEADERS)
    ? Object.entries(GATEWAY_HEADERS).flatMap(([name, value]) => (name in headers ? [] : [name, value]))
    : [...FIXED_PAIRS]
  for (const name of names) pairs.push(name, headers[name] ?? '')
  return pairs
}

/** False while the connection is kept open for what its caller still sends. */
export function send(
  request: IncomingMessage,
  response: ServerResponse,
  { body, contentType, status = 200, headers }: Answer,
  { requestId, closing }: { readonly requestId: string; readonly closing: boolean },
): boolean {
  if (response.destroyed) return true
  // Without a body a request is whole before the parser says so.
  const isUnread = hasBody(request) && !request.complete
  const length = Buffer.byteLength(body)
  const pairs = headers === undefined ? [...FIXED_PAIRS] : pairsWith(headers)
  pairs.push('content-type', contentType, 'content-length', String(length), 'x-request-id', requestId)
  // What was not read must not be taken for the next request on this connection.
  if (closing || isUnread) pairs.push('connection', 'close')
  response.writeHead(status, pairs)
  if (request.method === 'HEAD') response.end()
  else if (isUnread) sendAndLinger(request, response, body)
  // A text leaves in one piece with its head; where every character is one byte, without being encoded.
  else if (typeof body === 'string') response.end(body, length === body.length ? 'latin1' : 'utf8')
  else response.end(body)
  return request.method === 'HEAD' || !isUnread
}

/** Closing at once would reset the connection, and a caller that is still sending would never see the refusal. */
function sendAndLinger(request: IncomingMessage, response: ServerResponse, body: string | Uint8Array): void {
  response.write(body)
  const timer = setTimeout(() => response.end(), LINGER_MS)
  const end = (): void => {
    clearTimeout(timer)
    response.end()
  }
  request.once('end', end)
  request.once('error', end)
  request.resume()
}
