import { randomUUID } from 'node:crypto'
import { type JsonObject, type JsonValue, isJsonObject, member } from '@chancery/protocol'
import { type ServerMessage, isId } from './messages.ts'
import type { ClientRequest } from './tool-guard.ts'

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
