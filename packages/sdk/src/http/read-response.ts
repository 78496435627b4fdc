import { type Route, isErrorCode, isGatewayErrorCode } from '@chancery/contract'
import {
  FormError,
  JsonError,
  checkReceivedForm,
  fromUtf8,
  isJsonObject,
  member,
  readJsonBytes,
  readReceived,
  visible,
} from '@chancery/protocol'
import type { JsonObject, JsonValue, RecordForm } from '@chancery/protocol'
import { type RefusedCode, type RefusedError, ResponseError, toRefusedError } from '../errors.ts'
import type { Incoming } from './transport.ts'

/**
 * A signed record, or the JSON text in which it was received. Use the text when another JSON library read the record:
 * `JSON.parse` turns 100.0 into 100, and the signature does not verify any more.
 */
export type RecordOrText<Value> = Value | string

/** Sends each record of the route that is given as text under its name and `_text`. */
export function nameTexts(body: JsonObject, { records = {} }: Pick<Route, 'records'>): JsonObject {
  return Object.keys(records).reduce((named, path) => nameText(named, path.split('.')), body)
}

function nameText(body: JsonObject, [name = '', ...rest]: readonly string[]): JsonObject {
  const value = body[name]
  if (rest.length > 0) return isJsonObject(value) ? { ...body, [name]: nameText(value, rest) } : body
  if (typeof value !== 'string') return body
  const { [name]: _, ...others } = body
  return { ...others, [`${name}_text`]: value }
}

/** Without undefined members, also of inner objects: they are no JSON, and leaving them out is what the caller means. */
export function omitUndefined(members: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const given = Object.entries(members).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined)
  return Object.fromEntries(given.map(([name, value]) => [name, isJsonObject(value) ? omitUndefined(value) : value]))
}

/**
 * Reads a trust record of an answer. It must be whole and hold nothing this release does not know: a member dropped
 * here would break the signature wherever the record is presented next.
 */
export function signedRecord<Value>(form: RecordForm<Value>): (value: JsonValue) => Value {
  return (value) => {
    const received = readReceived(form, value)
    const verdict = checkReceivedForm(received)
    if (!verdict.ok) throw new FormError('', `the record is not in its signed form (${verdict.reason})`)
    return received.record
  }
}

/** Turns a successful answer into a value, or throws {@link ResponseError}. */
export type ReadResponse<Answer> = (incoming: Incoming) => Answer

/** An answer in JSON, read by the same strict reader the authority uses. */
export function json<Answer>(read: (value: JsonValue) => Answer): ReadResponse<Answer> {
  return (incoming) => {
    try {
      return read(parse(incoming))
    } catch (error) {
      // Both name a place and a rule, never a value.
      if (error instanceof FormError || error instanceof JsonError) throw toResponseError(incoming, error.message)
      throw error
    }
  }
}

export const text: ReadResponse<string> = (incoming) => {
  const found = fromUtf8(incoming.body)
  if (found === undefined) throw toResponseError(incoming, 'it is not UTF-8')
  return found
}

/** A file as it is: an icon, a script. */
export const bytes: ReadResponse<Uint8Array> = (incoming) => incoming.body

export interface RefusalContext {
  readonly nowMs: number
  /** Only an operator's or node's call depends on clocks that agree. */
  readonly signed: boolean
}

// Beyond this the authority refuses every signed timestamp (protocol/core 11.3).
const CLOCK_TOLERANCE_SECONDS = 300

/** Returns the error of a failed response: from the shared envelope, or for an unexpected response. */
export function refusalOf(incoming: Incoming, context: RefusalContext): RefusedError | ResponseError {
  const envelope = findEnvelope(incoming)
  if (envelope === undefined) return toResponseError(incoming, 'it is not an error envelope of an authority')
  const { status, retryAfterSeconds } = incoming
  const skew = incoming.dateMs === undefined ? 0 : Math.round((context.nowMs - incoming.dateMs) / 1000)
  // A descriptor outside its time is answered 400 (protocol/core 13.2), every other stale signature 401.
  const mayBeClock = context.signed && (status === 401 || envelope.code === 'descriptor_expired')
  const isSkewed = mayBeClock && Math.abs(skew) > CLOCK_TOLERANCE_SECONDS
  const clockSkewSeconds = isSkewed ? skew : undefined
  return toRefusedError({ status, retryAfterSeconds, clockSkewSeconds, ...envelope })
}

type Envelope = Pick<
  RefusedError,
  'code' | 'receivedCode' | 'message' | 'details' | 'requestId' | 'origin' | 'reason' | 'outcomeUncertain'
>

const CODE = /^[a-z0-9_]{1,64}$/

function findEnvelope(incoming: Incoming): Envelope | undefined {
  const body = tryParse(incoming)
  if (!isJsonObject(body)) return undefined
  const error = member(body, 'error')
  // The type of `error` shows the sender: an authority nests, a gateway is flat (protocol/gateway 6).
  const outcomeUncertain = member(body, 'outcome_uncertain') === true
  const [from, place, origin] = isJsonObject(error)
    ? ([error, 'message', 'authority'] as const)
    : ([body, 'error', 'gateway'] as const)
  const envelope = toEnvelope(incoming, from, { message: place, origin })
  return envelope === undefined ? undefined : { ...envelope, outcomeUncertain }
}

function toEnvelope(
  incoming: Incoming,
  from: JsonObject,
  { message: place, origin }: { readonly message: string; readonly origin: 'authority' | 'gateway' },
): Omit<Envelope, 'outcomeUncertain'> | undefined {
  const [code, message, details] = [member(from, 'code'), member(from, place), member(from, 'details')]
  if (typeof code !== 'string' || !CODE.test(code) || typeof message !== 'string') return undefined
  const reason = origin === 'gateway' ? textOf(member(from, 'reason')) : undefined
  return {
    code: toKnownCode(code),
    receivedCode: code,
    // An uncaught error is printed, so text of a server is escaped for the terminal.
    message: visible(message.slice(0, 1024)),
    details: isJsonObject(details) ? details : ({} satisfies JsonObject),
    requestId: incoming.requestId ?? shownText(member(from, 'request_id')),
    origin,
    reason: reason !== undefined && CODE.test(reason) ? reason : undefined,
  }
}

function toKnownCode(code: string): RefusedCode {
  return isErrorCode(code) || isGatewayErrorCode(code) ? code : 'unknown_code'
}

function tryParse(incoming: Incoming): JsonValue | undefined {
  try {
    return parse(incoming)
  } catch {
    return undefined
  }
}

/** Values are bounded by the bytes of the answer, which are counted: a long revocation list is a normal answer. */
function parse({ body }: Incoming): JsonValue {
  return readJsonBytes(body, { maxDepth: 64, maxValues: body.length, maxNames: body.length })
}

export function toResponseError({ status, requestId }: Incoming, problem: string): ResponseError {
  return new ResponseError({ status, requestId, problem })
}

function shownText(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? visible(value.slice(0, 128)) : undefined
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
