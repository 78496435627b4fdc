import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Refusal, type RefusalCode } from '@chancery/contract'
import type { HttpResponse } from './response.ts'

/** Response of a service to a request that could not be parsed, with all headers. */
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

/** Responds to a request that the parser refused, in the usual error envelope, and closes the connection. */
export function respondToBrokenRequest(
  error: Error & { code?: string },
  socket: Socket,
  toAnswer: ToBrokenResponse,
): void {
  // After CONNECT, Node removes its own error listener: without this one a reset would end the process.
  socket.on('error', () => socket.destroy())
  // An earlier response on this connection must be sent first.
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
  // The caller has a limited time to read this, because half-open connections would accumulate.
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

/** Node stores the current response of a connection in this member. */
function hasPendingResponse(socket: Socket & { readonly _httpMessage?: PendingResponse | null }): boolean {
  // oxlint-disable-next-line no-underscore-dangle -- the platform has no public name for it
  const pending = socket._httpMessage
  return pending !== undefined && pending !== null && (pending.headersSent || pending.req.complete)
}

interface PendingResponse {
  readonly headersSent: boolean
  readonly req: { readonly complete: boolean }
}

/** Refuses a request whose Expect header is not supported, in the error envelope. */
export function respondToUnmetExpectation(response: ServerResponse, toAnswer: ToBrokenResponse): void {
  const answer = toAnswer(new Refusal('bad_request'))
  const headers = { ...answer.headers, 'Content-Type': answer.contentType, Connection: 'close' }
  response.writeHead(answer.status ?? 400, headers).end(answer.body)
}
