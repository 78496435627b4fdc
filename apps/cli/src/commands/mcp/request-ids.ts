import { randomUUID } from 'node:crypto'
import { JsonFloat, type JsonObject, type JsonValue, isJsonObject, member } from '@chancery/protocol'
import { type ClientMessage, type ServerMessage, isId } from './messages.ts'
import type { ClientRequest } from './tool-guard.ts'
import type { IncomingHttpHeaders } from 'node:http'
import { type KnownTool, MODERN_VERSION } from './known-tools.ts'

/** Requests whose target is in the header `Mcp-Name`. */
const NAMED: ReadonlySet<string> = new Set(['tools/call', 'resources/read', 'prompts/get'])

/** Returns the version that a request of the current revision names. */
export function versionOf(params: JsonObject): JsonValue | undefined {
  const meta = member(params, '_meta')
  return isJsonObject(meta) ? member(meta, 'io.modelcontextprotocol/protocolVersion') : undefined
}

/** Returns the header that names another version, method or target than the body. */
export function wrongHeader(
  headers: IncomingHttpHeaders,
  { kind, method, params }: Extract<ClientMessage, { readonly method: string }>,
): string | undefined {
  const version = versionOf(params)
  const [sent, named, target] = ['mcp-protocol-version', 'mcp-method', 'mcp-name'].map((name) => headers[name])
  const isModern = version !== undefined
  // Only requests name the version in the body, and only since this revision.
  const isUnnamed = kind === 'request' && sent !== undefined && sent >= MODERN_VERSION
  if (isModern ? sent !== version : isUnnamed) return 'MCP-Protocol-Version'
  if (named === undefined ? isModern : named !== method) return 'Mcp-Method'
  const expected = member(params, targetMember(method))
  const isMissing = isModern && NAMED.has(method)
  return (target === undefined ? isMissing : decodeHeader(target) !== expected) ? 'Mcp-Name' : undefined
}

function targetMember(method: string): string {
  if (method.startsWith('tasks/')) return 'taskId'
  return method === 'resources/read' ? 'uri' : 'name'
}

/** Returns the `Mcp-Param-` header that differs from its argument, or that the schema of the tool does not name. */
export function wrongParam(
  headers: IncomingHttpHeaders,
  expected: KnownTool['headers'],
  { given, isModern }: { readonly given: JsonObject; readonly isModern: boolean },
): string | undefined {
  const unknown = Object.keys(headers).find((name) => name.startsWith('mcp-param-') && !expected.has(name))
  if (unknown !== undefined) return unknown
  const wrong = [...expected].find(([name, path]) => {
    const value = path.reduce<JsonValue | undefined>(
      (within, key) => (isJsonObject(within) ? member(within, key) : undefined),
      given,
    )
    const [header, text] = [headers[name], headerText(value)]
    return header === undefined ? isModern && text !== undefined : decodeHeader(header) !== text
  })
  return wrong?.[0]
}

/** Returns an argument as a header has it; undefined for one that has no such form. */
function headerText(value: JsonValue | undefined): string | undefined {
  if (value instanceof JsonFloat) return String(value.value)
  return value === undefined || typeof value === 'object' ? undefined : String(value)
}

/** Returns the text of a header; undefined for base64 that two readers could decode differently. */
function decodeHeader(header: string | string[]): string | undefined {
  const value = String(header)
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(value) ?? []
  if (encoded === undefined) return value
  const bytes = Buffer.from(encoded, 'base64')
  const text = bytes.toString('utf8')
  return bytes.toString('base64') === encoded && Buffer.from(text).equals(bytes) ? text : undefined
}

type Id = string | number

/** What a client called a request. */
interface Named {
  readonly id: Id
  readonly token: Id | undefined
  isRunning: boolean
}

/** Ended requests that a server may still name: a task has progress, a subscription has notifications. */
const MOST_ENDED = 1000
/** Notifications of a subscription name the request that made it. */
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'

/** A request as the server gets it. */
export interface SentRequest {
  /** Its id at the server. `request.id` stays that of the client. */
  readonly own: string
  readonly request: ClientRequest
}

/**
 * The ids of requests toward a server. The guard makes a random one for each request, which is also its progress token.
 * A client may use the id of a cancelled request again. With the ids of the client, a late response to the first request
 * would be taken for that to the second, and the evidence would state it.
 */
export class RequestIds {
  readonly #known = new Map<string, Named>()

  /** Replaces id and progress token. Call it before the decision, so that the digests are about what is sent. */
  toServer(request: ClientRequest): SentRequest {
    const { params, value } = request
    const id = request.id as Id
    const own = randomUUID()
    const meta = member(params, '_meta')
    const given = isJsonObject(meta) ? member(meta, 'progressToken') : undefined
    const token = isId(given) ? given : undefined
    this.#dropEnded(id, token)
    this.#known.set(own, { id, token, isRunning: true })
    if (!isJsonObject(meta) || token === undefined)
      return { own, request: { ...request, value: { ...value, id: own } } }
    const sent = { ...params, _meta: { ...meta, progressToken: own } }
    return { own, request: { ...request, params: sent, value: { ...value, id: own, params: sent } } }
  }

  /** The request has its response, or none will come. */
  end(own: string): void {
    const named = this.#known.get(own)
    if (named !== undefined) named.isRunning = false
  }

  isRunning(own: JsonValue): boolean {
    return this.#find(own)?.isRunning === true
  }

  /** Returns the id at the server of the request that a cancellation names. Nothing about it reaches the client any more. */
  cancel(params: JsonObject): string | undefined {
    const id = member(params, 'requestId')
    const running = [...this.#known].filter(([, named]) => named.isRunning && named.id === id)
    const [[own] = []] = running
    // Two clients that look the same may use one id. None of them may end the request of the other.
    if (own === undefined || running.length > 1) return undefined
    this.#known.delete(own)
    return own
  }

  /** Returns a message in the names of the client; undefined when it is about a request that the client does not know. */
  toClient(message: ServerMessage): ServerMessage | undefined {
    const { id, method, result, value } = message
    if (method !== undefined) return this.#notice(message)
    if (id === null) return message
    const named = this.#find(id)
    const shown = result === undefined ? {} : { result: this.#renameSubscription(result) }
    if (named === undefined || ('result' in shown && shown.result === undefined)) return undefined
    return { ...message, id: named.id, value: { ...value, id: named.id, ...shown }, ...shown } as ServerMessage
  }

  #notice(message: ServerMessage): ServerMessage | undefined {
    const { method, value } = message
    const given = member(value, 'params')
    const params = this.#renameSubscription(isJsonObject(given) ? given : {})
    if (params === undefined) return undefined
    if (method === 'notifications/progress') {
      const progressToken = this.#find(member(params, 'progressToken'))?.token
      return progressToken === undefined ? undefined : withParams(message, { ...params, progressToken })
    }
    // A server cancels a subscription, or its own request, whose id it chose.
    const cancelled = method === 'notifications/cancelled' ? this.#find(member(params, 'requestId')) : undefined
    if (cancelled !== undefined) return withParams(message, { ...params, requestId: cancelled.id })
    return params === given || given === undefined ? message : withParams(message, params)
  }

  /** Returns an object whose `_meta` names a subscription as the client does; undefined for an unknown subscription. */
  #renameSubscription(object: JsonObject): JsonObject | undefined {
    const meta = member(object, '_meta')
    const own = isJsonObject(meta) ? member(meta, SUBSCRIPTION) : undefined
    if (!isJsonObject(meta) || own === undefined) return object
    const named = this.#find(own)
    return named === undefined ? undefined : { ...object, _meta: { ...meta, [SUBSCRIPTION]: named.id } }
  }

  #find(own: JsonValue | undefined): Named | undefined {
    return typeof own === 'string' ? this.#known.get(own) : undefined
  }

  /** A name that a client uses again means its new request. */
  #dropEnded(id: Id, token: Id | undefined): void {
    const ended = [...this.#known].filter(([, { isRunning }]) => !isRunning)
    for (const [at, [own, named]] of ended.entries()) {
      const isAgain = named.id === id || (token !== undefined && named.token === token)
      if (isAgain || at < ended.length - MOST_ENDED) this.#known.delete(own)
    }
  }
}

function withParams(message: ServerMessage, params: JsonObject): ServerMessage {
  return { ...message, value: { ...message.value, params } }
}
