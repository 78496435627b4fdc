import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Refusal } from '@chancery/contract'
import type { RefusalCode } from '@chancery/contract'
import type { HttpResponse } from './answer.ts'

/** How a service answers a request that never became one; headers of every answer included. */
export type ToBrokenResponse = (refusal: Refusal) => HttpResponse

const CODES: ReadonlyMap<string, RefusalCode> = new Map([
  ['HPE_HEADER_OVERFLOW', 'request_header_fields_too_large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'request_timeout'],
])
const LINGER_MS = 1000

const REASONS: ReadonlyMap<number, string> = new Map([
  [400, 'Bad Request'],
  [408, 'Request Timeout'],
  [431, 'Request Header Fields Too Large'],
])

/** Answers what the parser could not read, in the same envelope as everything else, and closes the connection. */
export function respondToBrokenRequest(
  error: Error & { code?: string },
  socket: Socket,
  toAnswer: ToBrokenResponse,
): void {
  // Node takes its own listener off a socket it gives away (CONNECT): a reset would otherwise end the process.
  socket.on('error', () => socket.destroy())
  // An answer still on its way on this connection must not be overtaken by this one.
  if (!socket.writable || error.code === 'ECONNRESET' || hasPendingResponse(socket)) {
    socket.destroy()
    return
  }
  const answer = toAnswer(new Refusal(CODES.get(error.code ?? '') ?? 'bad_request'))
  const body = Buffer.from(answer.body)
  const headers = {
    ...answer.headers,
    'Content-Type': answer.contentType,
    'Content-Length': String(body.length),
    Connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const status = answer.status ?? 400
  socket.end(`HTTP/1.1 ${status} ${REASONS.get(status) ?? 'Error'}\r\n${lines.join('')}\r\n${body.toString()}`)
  // Half-open connections would fill the process, so the caller has a limited time to read this.
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

/** Node notes the answer a connection is busy with in this member; one of a whole request is not ours to overtake. */
function hasPendingResponse(socket: Socket & { readonly _httpMessage?: PendingResponse | null }): boolean {
  // oxlint-disable-next-line no-underscore-dangle -- the platform has no public name for it
  const pending = socket._httpMessage
  return pending !== undefined && pending !== null && (pending.headersSent || pending.req.complete)
}

interface PendingResponse {
  readonly headersSent: boolean
  readonly req: { readonly complete: boolean }
}

/** Sends the same response to a request whose expectation cannot be met; here the platform has a response object. */
export function respondToUnmetExpectation(response: ServerResponse, toAnswer: ToBrokenResponse): void {
  const answer = toAnswer(new Refusal('bad_request'))
  const headers = { ...answer.headers, 'Content-Type': answer.contentType, Connection: 'close' }
  response.writeHead(answer.status ?? 400, headers).end(answer.body)
}
