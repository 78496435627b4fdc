import type { Route } from '@chancery/contract'
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
import { type RefusedError, ResponseError, toRefusedError } from '../errors.ts'
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

/** Returns the error of a failed response: from the shared envelope, or for an unexpected response. */
export function refusalOf(incoming: Incoming, nowMs: number): RefusedError | ResponseError {
  const envelope = findEnvelope(incoming)
  if (envelope === undefined) return toResponseError(incoming, 'it is not an error envelope of an authority')
  const { status, retryAfterSeconds, dateMs } = incoming
  const clockOffsetSeconds = dateMs === undefined ? undefined : Math.round((nowMs - dateMs) / 1000)
  return toRefusedError({ status, retryAfterSeconds, clockOffsetSeconds, ...envelope })
}

type Envelope = Pick<RefusedError, 'code' | 'message' | 'details' | 'requestId' | 'service' | 'outcomeUncertain'>

const CODE = /^[a-z0-9_]{1,64}$/

function findEnvelope(incoming: Incoming): Envelope | undefined {
  const body = tryParse(incoming)
  if (!isJsonObject(body)) return undefined
  const error = member(body, 'error')
  // The type of `error` shows the sender: an authority nests, a gateway is flat (protocol/gateway 6).
  const [from, place, service] = isJsonObject(error)
    ? ([error, 'message', 'authority'] as const)
    : ([body, 'error', 'gateway'] as const)
  const [general, message, details] = [member(from, 'code'), member(from, place), member(from, 'details')]
  if (typeof general !== 'string' || !CODE.test(general) || typeof message !== 'string') return undefined
  // The code of a gateway is the class of the status: its reason says more.
  const reason = service === 'gateway' ? member(from, 'reason') : undefined
  return {
    code: typeof reason === 'string' && CODE.test(reason) ? reason : general,
    // An uncaught error is printed, so text of a server is escaped for the terminal.
    message: visible(message.slice(0, 1024)),
    details: isJsonObject(details) ? details : ({} satisfies JsonObject),
    requestId: incoming.requestId ?? shownText(member(from, 'request_id')),
    service,
    outcomeUncertain: member(body, 'outcome_uncertain') === true,
  }
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
