import type { ServerResponse } from 'node:http'
import { REQUEST_ID_HEADER, SECURITY_HEADERS, SERVER_LIMITS } from '@chancery/contract'
import { Answer, KeptDocument, json } from './answer.ts'
import type { HandlerAnswer } from './bind.ts'

/** What an answer needs beside itself. */
export interface Envelope {
  readonly requestId: string
  readonly status: number
  /** Set when no further request is to be read from this connection. */
  readonly closes: Closing | undefined
  /** The compressed copy of a kept document, for a reader who takes it. */
  readonly gzip?: Uint8Array | undefined
}

/** after-rest: a body is still on its way; what comes of it is dropped for a moment, so that the answer can be read. */
export type Closing = 'now' | 'after-rest'

/**
 * Names and values in turn, the form the platform sends with the least work. `SECURITY_HEADERS` are on every answer;
 * where an answer has a rule of its own for one of them, its own counts.
 */
const SECURITY_PAIRS: readonly string[] = Object.entries(SECURITY_HEADERS).flat()

/** Writes the whole answer. The framework's own way out is passed by: it would touch every header three times. */
export function send(response: ServerResponse, answer: HandlerAnswer, envelope: Envelope): void {
  if (answer instanceof KeptDocument) sendKept(response, answer, envelope)
  else sendAnswer(response, answer instanceof Answer ? answer : json(answer), envelope)
  cutSlowReader(response)
}

function sendAnswer(response: ServerResponse, answer: Answer, envelope: Envelope): void {
  const { body, contentType, headers } = answer
  const length = Buffer.byteLength(body)
  const pairs = headers === undefined ? [...SECURITY_PAIRS] : Object.entries({ ...SECURITY_HEADERS, ...headers }).flat()
  pairs.push(REQUEST_ID_HEADER, envelope.requestId)
  if (contentType !== '') pairs.push('Content-Type', contentType)
  if (envelope.status !== 204) pairs.push('Content-Length', String(length))
  if (envelope.closes !== undefined) pairs.push('Connection', 'close')
  response.writeHead(envelope.status, pairs)
  if (envelope.closes === 'after-rest') endAfterRest(response, body)
  else endWith(response, body, length)
}

function sendKept(response: ServerResponse, document: KeptDocument, { requestId, closes, gzip }: Envelope): void {
  const held = document.formHeldBy(response.req.headers['if-none-match'])
  const pairs = [...keptHeaders(document, held, gzip), REQUEST_ID_HEADER, requestId]
  if (closes !== undefined) pairs.push('Connection', 'close')
  response.writeHead(held === undefined ? 200 : 304, pairs)
  if (held !== undefined) response.end()
  else if (gzip !== undefined) endWith(response, gzip, gzip.length)
  else endWith(response, document.text ?? document.bytes, document.bytes.length)
}

function keptHeaders(
  document: KeptDocument,
  held: 'plain' | 'gzip' | undefined,
  gzip: Uint8Array | undefined,
): readonly string[] {
  if (held !== undefined) return held === 'gzip' ? document.gzipBriefHeaders() : document.briefHeaders
  return gzip === undefined ? document.headers : document.gzipHeaders(gzip.length)
}

/** HEAD has the headers of its GET, length included, and no body. */
function endWith(response: ServerResponse, body: string | Uint8Array, length: number): void {
  if (length === 0 || response.req.method === 'HEAD') response.end()
  else if (typeof body !== 'string') response.end(body)
  // A text goes out in one piece with its head; where every character is one byte, without being encoded.
  else response.end(body, length === body.length ? 'latin1' : 'utf8')
}

/** How long what is still being sent is dropped. */
const REST_MS = 1000

/** Closing at once would reset the connection, and a caller that is still sending would never see the answer. */
function endAfterRest(response: ServerResponse, body: string | Uint8Array): void {
  const { req } = response
  if (req.method === 'HEAD' || body.length === 0) response.flushHeaders()
  else response.write(body)
  const timer = setTimeout(() => response.end(), REST_MS)
  const end = (): void => {
    clearTimeout(timer)
    response.end()
  }
  req.once('end', end).once('error', end).once('close', end)
  req.resume()
}

/**
 * An answer nobody takes is given up: it would hold its bytes and its connection for ever. One the system has taken
 * whole holds nothing.
 */
function cutSlowReader(response: ServerResponse): void {
  if (response.writableLength === 0 && response.socket?.writableLength === 0) return
  response.setTimeout(SERVER_LIMITS.answerIdleSeconds * 1000, () => response.destroy())
}
