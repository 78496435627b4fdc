import { JsonError, isJsonObject, member, readJson, readJsonBytes } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'

/** Codes of JSON-RPC, and one of Chancery outside of the reserved range. */
export const CODES = {
  parse: -32_700,
  invalid: -32_600,
  params: -32_602,
  internal: -32_603,
  headerMismatch: -32_020,
  denied: 40_301,
} as const

/** A message of a client, read strictly: the server must not understand another message than the guard. */
export type ClientMessage =
  | (Read & { readonly kind: 'request'; readonly id: JsonValue; readonly method: string; readonly params: JsonObject })
  | (Read & { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject })
  | (Read & { readonly kind: 'response' })
  | { readonly kind: 'invalid'; readonly id: JsonValue; readonly code: number; readonly text: string }

/** What was read. It is written again for the receiver; received bytes are never passed on. */
interface Read {
  readonly value: JsonObject
}

const MEMBERS: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error'])
/** The writer refuses deeper values. */
const LIMITS = { maxDepth: 64, maxValues: 1_000_000, maxNames: 1_000_000 }

/** Reads one message of a client. Never throws on what arrived. */
export function readClientMessage(received: string | Uint8Array): ClientMessage {
  let value: JsonValue
  try {
    value = readStrictly(received)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return { kind: 'invalid', id: null, code: CODES.parse, text: `The message is not strict JSON: ${error.message}.` }
  }
  if (!isJsonObject(value)) return invalid(null, 'A message is one JSON object; batches are not passed on.')
  const id = member(value, 'id')
  // Some readers compare names without case, and some ignore what they do not know.
  if (!isJsonRpc(value)) return invalid(idOf(id), 'A member is not of JSON-RPC 2.0.')
  if (!hasDistinctNames(value)) return invalid(idOf(id), 'Two members differ in case only.')
  const [method, params] = [member(value, 'method'), member(value, 'params') ?? {}]
  if (id !== undefined && !isId(id)) return invalid(null, 'The id is not a text or a whole number below 2^53.')
  if (method === undefined) return readResponse(value)
  if (typeof method !== 'string' || Object.hasOwn(value, 'result') || Object.hasOwn(value, 'error'))
    return invalid(idOf(id), 'A message is a request, a notification or a response.')
  if (!isJsonObject(params)) return invalid(idOf(id), 'The parameters are not an object.')
  if (id === undefined) return { kind: 'notification', method, params, value }
  return { kind: 'request', id, method, params, value }
}

function readStrictly(received: string | Uint8Array): JsonValue {
  return typeof received === 'string' ? readJson(received, LIMITS) : readJsonBytes(received, LIMITS)
}

function isJsonRpc(value: JsonObject): boolean {
  return member(value, 'jsonrpc') === '2.0' && Object.keys(value).every((name) => MEMBERS.has(name))
}

function readResponse(value: JsonObject): ClientMessage {
  const id = member(value, 'id')
  const isComplete = Object.hasOwn(value, 'result') !== Object.hasOwn(value, 'error') && !Object.hasOwn(value, 'params')
  return isComplete && isId(id) ? { kind: 'response', value } : invalid(idOf(id), 'The message has no method.')
}

function invalid(id: JsonValue, text: string): ClientMessage {
  return { kind: 'invalid', id, code: CODES.invalid, text }
}

/** True for an id that every reader understands the same way. */
export function isId(id: unknown): id is string | number {
  return typeof id === 'string' || Number.isSafeInteger(id)
}

function idOf(id: unknown): string | number | null {
  return isId(id) ? id : null
}

/** Returns a name as readers see it that compare without case. */
function folded(name: string): string {
  return name.toUpperCase().toLowerCase()
}

/** False when members of one object, at any depth, differ in case only. */
function hasDistinctNames(value: JsonValue): boolean {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).every(hasDistinctNames)
  if (!isJsonObject(value)) return true
  const names = Object.keys(value)
  return new Set(names.map(folded)).size === names.length && Object.values(value).every(hasDistinctNames)
}

/** A message of a server. An invalid one is an error for the client, with the id of the message when it has one. */
export interface ServerMessage extends Read {
  readonly kind: 'request' | 'notification' | 'response' | 'invalid'
  readonly id: string | number | null
  readonly method?: string
  readonly result?: JsonObject
  readonly error?: JsonObject
}

/** Reads a message of a server strictly: the client must not understand another message than the guard. */
export function readServerMessage(received: string | Uint8Array): ServerMessage {
  try {
    const value = readStrictly(received)
    if (isJsonObject(value)) return readServerObject(value)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
  }
  return unusable(looseId(received))
}

function readServerObject(value: JsonObject): ServerMessage {
  const [id, method, result, error] = ['id', 'method', 'result', 'error'].map((name) => member(value, name))
  const known = idOf(id)
  if (!isJsonRpc(value)) return unusable(known)
  const isAnswer = result !== undefined || error !== undefined
  if (typeof method === 'string') {
    if (isAnswer || (id !== undefined && known === null)) return unusable(known)
    return { kind: id === undefined ? 'notification' : 'request', id: known, method, value }
  }
  if (method !== undefined || Object.hasOwn(value, 'params')) return unusable(known)
  if (error === undefined && known !== null && isJsonObject(result) && !hidesTools(result))
    return { kind: 'response', id: known, result, value }
  const isError = result === undefined && isJsonObject(error) && (id === undefined || id === null || known !== null)
  return isError ? { kind: 'response', id: known, error, value } : unusable(known)
}

/** Some clients would read such a member as the list of tools. */
function hidesTools(result: JsonObject): boolean {
  return Object.keys(result).some((name) => name !== 'tools' && folded(name) === 'tools')
}

function unusable(id: string | number | null): ServerMessage {
  return { kind: 'invalid', id, value: notValid(id) }
}

export function notValid(id: JsonValue): JsonObject {
  return errorBody(id, CODES.internal, 'The server sent a message that is not valid.')
}

/** Returns the id of a text that is not strict JSON, so that its request gets an error. */
function looseId(received: string | Uint8Array): string | number | null {
  try {
    const text = typeof received === 'string' ? received : new TextDecoder().decode(received)
    return idOf((JSON.parse(text) as { readonly id?: unknown } | null)?.id)
  } catch {
    return null
  }
}

/** Returns a text for an id, such that `1` and `"1"` differ. */
export function idKey(id: JsonValue): string {
  return isId(id) ? JSON.stringify(id) : ''
}

export function errorBody(id: JsonValue, code: number, message: string, data?: JsonObject): JsonObject {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } }
}

/** A server could follow the header or the body. */
export function headerMismatch(id: JsonValue, header: string): JsonObject {
  return errorBody(id, CODES.headerMismatch, `The header ${header} differs from the body.`)
}

/** The result of a tool call in the form of both eras: older clients ignore `resultType`. */
export function resultBody(id: JsonValue, result: object): JsonObject {
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', ...(result as JsonObject) } }
}
