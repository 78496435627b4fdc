import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type JsonObject, type JsonValue, writeJson } from '@chancery/protocol'
import type { ActionReport } from '@chancery/sdk/internal'
import { type KnownTool, KnownTools } from './known-tools.ts'
import { CODES, errorBody, headerMismatch, notValid, readClientMessage, readServerMessage } from './messages.ts'
import type { ClientMessage, ServerMessage } from './messages.ts'
import { RequestIds, type SentRequest, versionOf, wrongHeader, wrongParam } from './request-ids.ts'
import { readEvents, writeEvent } from './sse.ts'
import { type ClientRequest, type ToolGuard, outcomeOfResponse } from './tool-guard.ts'
import { isNotEncoded, isPlainJson, isStream, passedHeaders, readAll, returnedHeaders } from './upstream.ts'
import type { Upstream } from './upstream.ts'

const MAX_BODY_BYTES = 4 * 1024 * 1024
const MOST_CALLERS = 1000
interface Caller {
  readonly known: KnownTools
  readonly ids: RequestIds
}

/** What a response of the server belongs to: a request with its id at the server, or only a caller. */
type Answered = { readonly ids: RequestIds } & (SentRequest | { readonly own?: never; readonly request?: never })

/** Passes requests of clients on to a server, as far as the guard allows them. */
export class HttpGuard {
  readonly #guard: ToolGuard
  readonly #upstream: Upstream
  readonly #note: (text: string) => void
  /** By caller: one caller never sees or uses the list of another, and never names its requests. */
  readonly #callers = new Map<string, Caller>()
  readonly #work = new Set<Promise<void>>()

  constructor(guard: ToolGuard, upstream: Upstream, note: (text: string) => void) {
    this.#guard = guard
    this.#upstream = upstream
    this.#note = note
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const work = this.#handle(request, response).catch((error: unknown) => this.#failed(response, null, error))
    this.#work.add(work)
    await work
    this.#work.delete(work)
  }

  #failed(response: ServerResponse, id: JsonValue, error: unknown): void {
    this.#note(`a request failed: ${error instanceof Error ? error.message : String(error)}`)
    if (response.headersSent) response.destroy()
    else sendJson(response, 502, errorBody(id, CODES.internal, 'The guard or its server failed.'))
  }

  async idle(): Promise<void> {
    await Promise.allSettled(this.#work)
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') return this.#pass(request, response, undefined)
    if (!isPlainJson(request.headers))
      return sendJson(response, 415, errorBody(null, CODES.invalid, 'The body must be application/json in UTF-8.'))
    const body = await readAll(request, MAX_BODY_BYTES).catch(() => undefined)
    if (body === undefined)
      return sendJson(response, 413, errorBody(null, CODES.invalid, 'The body is longer than 4 MiB.'))
    const message = readClientMessage(body)
    if (message.kind === 'invalid') return sendJson(response, 400, errorBody(message.id, message.code, message.text))
    if (message.kind === 'response') return this.#pass(request, response, message.value)
    const wrong = wrongHeader(request.headers, message)
    if (wrong !== undefined)
      return sendJson(response, 400, headerMismatch(message.kind === 'request' ? message.id : null, wrong))
    this.#guard.begin(message.method)
    if (message.kind === 'request') return this.#request(message, request, response)
    if (message.method === 'notifications/cancelled') return this.#cancel(message, request, response)
    if (this.#guard.passesNotice(message.method)) return this.#pass(request, response, message.value)
    return sendJson(response, 403, errorBody(null, CODES.denied, 'This guard does not pass on this notification.'))
  }

  /** Passes a cancellation on in the id that the server knows. One of an unknown request has no meaning for the server. */
  async #cancel(
    { params, value }: Extract<ClientMessage, { readonly kind: 'notification' }>,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const own = this.#callerOf(callerKey(request)).ids.cancel(params)
    if (own === undefined) return void response.writeHead(202, { 'cache-control': 'no-store' }).end()
    return this.#pass(request, response, { ...value, params: { ...params, requestId: own } })
  }

  async #request(received: ClientRequest, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const caller = passedHeaders(request.headers)
    const key = callerKey(request)
    const { known, ids } = this.#callerOf(key)
    const { own, request: message } = ids.toServer(received)
    const tools = {
      known,
      caller: key,
      ask: (method: string, params: JsonObject) => this.#upstream.ask(caller, method, params),
      wrongHeader: ({ headers }: KnownTool, given: JsonObject) =>
        wrongParam(request.headers, headers, { given, isModern: versionOf(message.params) !== undefined }),
    }
    const guarded = await this.#guard
      .request(message, tools, (sent, report) =>
        this.#exchange({ own, request: { ...message, value: sent }, ids }, { request, response }, report),
      )
      .finally(() => ids.end(own))
    if (!guarded.passed) sendJson(response, guarded.status, guarded.body)
  }

  /** Sends a request of the client to the server and its response back, and reports what it saw. */
  async #exchange(
    sent: Answered & SentRequest,
    { request, response }: { request: IncomingMessage; response: ServerResponse },
    report: (said: ActionReport) => void,
  ): Promise<void> {
    if (response.destroyed) return report({ outcome: 'failure', detail: 'the client disconnected before the call' })
    // The server may have executed the call, whatever happens from here on.
    report(outcomeOfResponse(undefined))
    const { request: message } = sent
    const upstream = await this.#sendOn(request, response, message.value).catch((error: unknown) => {
      if (isRefused(error)) report({ outcome: 'failure', detail: 'the server cannot be reached' })
      return undefined
    })
    if (upstream === undefined)
      return sendJson(response, 502, errorBody(message.id, CODES.internal, 'The server did not respond.'))
    const { statusCode = 502 } = upstream
    try {
      const found = await this.#return(upstream, response, sent)
      if (found !== undefined) report(outcomeOfResponse(found))
      else if (statusCode >= 400 && statusCode < 500)
        report({ outcome: 'failure', detail: `the server returned status ${statusCode}` })
    } catch (error) {
      this.#failed(response, message.id, error)
    }
  }

  /** Passes a request on that needs no decision. */
  async #pass(request: IncomingMessage, response: ServerResponse, body: JsonObject | undefined): Promise<void> {
    const upstream = await this.#sendOn(request, response, body)
    await this.#return(upstream, response, { ids: this.#callerOf(callerKey(request)).ids })
  }

  #sendOn(request: IncomingMessage, response: ServerResponse, body: JsonObject | undefined): Promise<IncomingMessage> {
    const gone = new AbortController()
    // A client that disconnects cancels its request.
    response.once('close', () => {
      if (!response.writableFinished) gone.abort()
    })
    const bytes = Buffer.from(body === undefined ? '' : writeJson(body))
    return this.#upstream.send(request.method ?? 'GET', passedHeaders(request.headers), bytes, gone.signal)
  }

  /** Returns the response to the request, when it was among what the server sent. */
  async #return(
    upstream: IncomingMessage,
    response: ServerResponse,
    sent: Answered,
  ): Promise<ServerMessage | undefined> {
    const headers = { ...returnedHeaders(upstream), 'cache-control': 'no-store' }
    const { statusCode: status = 502 } = upstream
    const id = sent.request?.id ?? null
    // A client that follows a redirect would go around the guard.
    if ((status >= 300 && status < 400) || !isNotEncoded(upstream.headers)) {
      upstream.destroy()
      const text = 'The server returned a redirect or a compressed body, which is not passed on.'
      sendJson(response, 502, errorBody(id, CODES.internal, text))
      return undefined
    }
    if (isStream(upstream)) {
      response.writeHead(status, { ...headers, 'content-type': 'text/event-stream' })
      response.flushHeaders()
      return this.#returnEvents(upstream, response, sent)
    }
    const bytes = await readAll(upstream)
    if (bytes.length === 0) {
      response.writeHead(status, headers).end()
      return undefined
    }
    const received = readServerMessage(bytes)
    const known = received.kind === 'invalid' ? undefined : toClient(received, sent, undefined)
    const body = known === undefined ? notValid(id) : await this.#guard.shown(known, sent.request?.method)
    response
      .writeHead(known === undefined && status < 400 ? 502 : status, { ...headers, 'content-type': 'application/json' })
      .end(writeJson(body))
    return isResponseTo(received, sent.own) ? received : undefined
  }

  async #returnEvents(
    upstream: IncomingMessage,
    response: ServerResponse,
    sent: Answered,
  ): Promise<ServerMessage | undefined> {
    let found: ServerMessage | undefined
    try {
      for await (const event of readEvents(upstream)) {
        // An event without data has an id to resume from, or keeps the connection open.
        if (event.data === undefined || event.data === '') {
          await write(response, writeEvent(event))
          continue
        }
        const received = readServerMessage(event.data)
        if (received.method === 'notifications/tools/list_changed')
          for (const { known } of this.#callers.values()) known.clear()
        const known = toClient(received, sent, found)
        if (isResponseTo(received, sent.own)) found ??= received
        const shown = known === undefined ? undefined : await this.#guard.shown(known, sent.request?.method)
        // A client may resume after an event that is not shown.
        await write(response, writeEvent({ ...event, data: shown === undefined ? undefined : writeJson(shown) }))
      }
    } catch {
      // The server or the client ended the stream. What was seen until then counts.
      response.destroy()
    }
    response.end()
    return found
  }

  #callerOf(key: string): Caller {
    const caller = this.#callers.get(key) ?? { known: new KnownTools(), ids: new RequestIds() }
    this.#callers.delete(key)
    this.#callers.set(key, caller)
    const [oldest] = this.#callers.keys()
    if (this.#callers.size > MOST_CALLERS && oldest !== undefined) this.#callers.delete(oldest)
    return caller
  }
}

/** Returns a text that differs for callers with different credentials. */
function callerKey({ headers }: IncomingMessage): string {
  const facts = [headers.authorization, headers.cookie, headers['mcp-session-id'], headers['mcp-protocol-version']]
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex')
}

/**
 * Returns a message as this client may get it here. On the stream of a request that is its first response only, and a
 * running request is answered nowhere else: the client would get what the evidence does not state.
 */
function toClient(
  received: ServerMessage,
  { ids, own }: Answered,
  found: ServerMessage | undefined,
): ServerMessage | undefined {
  const { id, method } = received
  const isAnswer = method === undefined && id !== null
  const isStray = own === undefined ? ids.isRunning(id) : id !== own || found !== undefined
  return isAnswer && isStray ? undefined : ids.toClient(received)
}

function isResponseTo(received: ServerMessage, own: string | undefined): boolean {
  return own !== undefined && received.kind === 'response' && received.id === own
}

/** Writes, and waits while the client is slower than the server. */
async function write(response: ServerResponse, text: string): Promise<void> {
  if (response.destroyed) throw new Error('the client disconnected')
  if (response.write(text)) return
  await new Promise<void>((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })
}

function isRefused(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ECONNREFUSED' || error.code === 'ENOTFOUND')
}

export function sendJson(response: ServerResponse, status: number, body: JsonObject): void {
  if (response.headersSent || response.destroyed) return
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(writeJson(body))
}
