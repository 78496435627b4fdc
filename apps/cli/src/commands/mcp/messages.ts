import { JsonError, canonicalJson, isJsonObject, member, readJson } from '@chancery/protocol'
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
  | { readonly kind: 'request'; readonly id: JsonValue; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'response' }
  | { readonly kind: 'invalid'; readonly id: JsonValue; readonly code: number; readonly text: string }

const MEMBERS: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error'])
const LIMITS = { maxDepth: 128, maxValues: 1_000_000, maxNames: 1_000_000 }

/** Reads one message of a client. Never throws on what arrived. */
export function readClientMessage(text: string): ClientMessage {
  let value: JsonValue
  try {
    value = readJson(text, LIMITS)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return { kind: 'invalid', id: null, code: CODES.parse, text: `The message is not strict JSON: ${error.message}.` }
  }
  if (!isJsonObject(value)) return invalid(null, 'A message is one JSON object; batches are not passed on.')
  const id = member(value, 'id')
  // Some readers compare names without case, and some ignore what they do not know.
  if (!Object.keys(value).every((name) => MEMBERS.has(name))) return invalid(idOf(id), 'A member is not of JSON-RPC.')
  const [method, params] = [member(value, 'method'), member(value, 'params') ?? {}]
  if (method === undefined) return readResponse(value)
  if (typeof method !== 'string' || member(value, 'result') !== undefined || member(value, 'error') !== undefined)
    return invalid(idOf(id), 'A message is a request, a notification or a response.')
  if (!isJsonObject(params)) return invalid(idOf(id), 'The parameters are not an object.')
  if (!hasDistinctNames(params)) return invalid(idOf(id), 'Two parameters differ in case only.')
  if (id === undefined) return { kind: 'notification', method, params }
  if (!isId(id)) return invalid(null, 'The id is not a text or a whole number.')
  return { kind: 'request', id, method, params }
}

function readResponse(value: JsonObject): ClientMessage {
  const isComplete = Object.hasOwn(value, 'result') !== Object.hasOwn(value, 'error') && !Object.hasOwn(value, 'params')
  return isComplete ? { kind: 'response' } : invalid(idOf(member(value, 'id')), 'The message has no method.')
}

function invalid(id: JsonValue, text: string): ClientMessage {
  return { kind: 'invalid', id, code: CODES.invalid, text }
}

function isId(id: JsonValue | undefined): id is string | number | bigint {
  return typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint'
}

function idOf(id: JsonValue | undefined): JsonValue {
  return isId(id) ? id : null
}

function hasDistinctNames(params: JsonObject): boolean {
  const names = Object.keys(params).map((name) => name.toLowerCase())
  return new Set(names).size === names.length
}

/** A message of a server, as far as the guard needs it. Its text is passed on unchanged. */
export interface ServerMessage {
  readonly id?: unknown
  readonly method?: unknown
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code?: unknown; readonly message?: unknown }
}

/** Reads a message of a server; undefined when it is not a JSON object. */
export function readServerMessage(text: string): ServerMessage | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

export function isResponse(message: ServerMessage): boolean {
  return message.method === undefined && message.id !== undefined
}

/** Returns a text for an id, such that `1` and `"1"` differ. */
export function idKey(id: unknown): string {
  return typeof id === 'string' || typeof id === 'bigint' ? canonicalJson(id) : JSON.stringify(id)
}

export function errorBody(id: JsonValue, code: number, message: string, data?: JsonObject): JsonObject {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } }
}

/** The result of a tool call in the form of both eras: older clients ignore `resultType`. */
export function resultBody(id: JsonValue, result: object): JsonObject {
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', ...(result as JsonObject) } }
}
