import type { Socket } from 'node:net'
import { REQUEST_ID_HEADER, Refusal, SECURITY_HEADERS } from '@chancery/contract'
import type { ErrorCode } from '@chancery/contract'
import { toErrorAnswer } from './error-envelope.ts'

const CODES: ReadonlyMap<string, ErrorCode> = new Map([
  ['HPE_HEADER_OVERFLOW', 'request_header_fields_too_large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'request_timeout'],
])
const REASONS: ReadonlyMap<number, string> = new Map([
  [400, 'Bad Request'],
  [408, 'Request Timeout'],
  [431, 'Request Header Fields Too Large'],
])

/** Answers what the parser could not read, in the same envelope as everything else, and closes the connection. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket, requestId: string): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const answer = toErrorAnswer(new Refusal(CODES.get(error.code ?? '') ?? 'bad_request'), requestId)
  const body = Buffer.from(answer.body)
  const headers = {
    ...SECURITY_HEADERS,
    [REQUEST_ID_HEADER]: requestId,
    'Content-Type': answer.contentType,
    'Content-Length': String(body.length),
    Connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const status = answer.status ?? 400
  socket.end(`HTTP/1.1 ${status} ${REASONS.get(status) ?? 'Error'}\r\n${lines.join('')}\r\n${body.toString()}`)
}
