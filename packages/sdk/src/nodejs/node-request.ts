import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { UsageError } from '../errors.ts'
import type { AllowedAnswer } from '../node/answer.ts'
import { type Arrived, type Authorizer, type Requirement, coreOf, joinParts } from '../request-proof/authorizer.ts'
import type { Caller } from '../request-proof/caller.ts'
import { optionsOf } from '../servers/requirement.ts'

/** What the servers of Node.js share. */

/** The caller disconnected while it sent its body. */
export class CallerGoneError extends Error {
  override readonly name = 'CallerGoneError'
}

/** Express removes the path of a mount from `url`, and Fastify may replace it: the proof is of the one as received. */
type Received = IncomingMessage & { readonly originalUrl?: string }

/** A request of Node.js whose body was not read yet. */
export function arrivedAtNode(request: Received, payload: AsyncIterable<Uint8Array> = request): Arrived {
  return {
    method: request.method ?? '',
    target: request.originalUrl ?? request.url ?? '',
    // headersDistinct keeps repeated fields apart; `headers` would join them.
    field: (name) => request.headersDistinct[name] ?? [],
    body: (maxBytes) => readBody(payload, maxBytes),
  }
}

async function readBody(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const parts: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of chunks) {
      size += chunk.length
      if (size > maxBytes) return undefined
      parts.push(chunk)
    }
  } catch (error) {
    throw new CallerGoneError('the body did not arrive', { cause: error })
  }
  return joinParts(parts, size)
}

/** What is known of a request: stored next to it, so that no global type of a framework changes. */
interface Known {
  readonly authorizer: Authorizer
  readonly caller: Caller
  readonly body: Buffer
  readonly answer?: AllowedAnswer
}

const KNOWN = new WeakMap<object, Known>()

/** Authenticates a request once for each authorizer. */
export async function authenticateAtNode(
  authorizer: Authorizer,
  request: Received,
  payload?: AsyncIterable<Uint8Array>,
): Promise<Known | Response> {
  const known = KNOWN.get(request)
  if (known?.authorizer === authorizer) return known
  // After a parser the bytes are gone: an empty body would be compared, and every proof refused without a reason.
  if (request.readableEnded && known === undefined)
    throw new UsageError('authenticate() must stand before body parsers')
  const found = await coreOf(authorizer).authenticate(arrivedAtNode(request, payload))
  if (!found.ok) return found.response
  const made = { authorizer, caller: found.caller, body: Buffer.from(found.body) }
  KNOWN.set(request, made)
  return made
}

/** Authenticates where that was not done, then asks for a decision. */
export async function authorizeAtNode<Req>(
  authorizer: Authorizer<true>,
  request: Received,
  { requirement, given }: { readonly requirement: Requirement<Req>; readonly given: Req },
): Promise<(Known & { readonly answer: AllowedAnswer }) | Response> {
  const known = await authenticateAtNode(authorizer, request)
  if (known instanceof Response) return known
  const { capability, options } = optionsOf(requirement, given)
  const answer = await coreOf(authorizer).decide(known.caller, capability, options)
  if ('refusal' in answer) return answer.response
  const made = { ...known, answer }
  KNOWN.set(request, made)
  return made
}

export function callerAt(request: object): Caller {
  const known = KNOWN.get(request)
  if (known === undefined) throw new UsageError('callerOf() needs authenticate() or authorize() before this route')
  return known.caller
}

export function answerAt(request: object): AllowedAnswer {
  const answer = KNOWN.get(request)?.answer
  if (answer === undefined) throw new UsageError('answerOf() needs authorize() before this route')
  return answer
}

/** The checked body for a parser. Fastify compares the length with Content-Length. */
export function readAgain(body: Buffer): Readable & { readonly receivedEncodedLength: number } {
  return Object.assign(Readable.from([body]), { receivedEncodedLength: body.length })
}

export async function sendRefusal(response: ServerResponse, refusal: Response): Promise<void> {
  const text = await refusal.text()
  const headers = { ...Object.fromEntries(refusal.headers), 'content-length': String(Buffer.byteLength(text)) }
  response.writeHead(refusal.status, headers)
  response.end(text)
}
