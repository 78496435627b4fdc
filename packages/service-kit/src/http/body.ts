import type { IncomingMessage } from 'node:http'
import { LIMITS, READ_LIMITS, Refusal, type RefusalCode, type Route, SERVER_LIMITS } from '@chancery/contract'
import {
  READ_LIMITS as JSON_LIMITS,
  JsonError,
  isJsonObject,
  member,
  readJson,
  readJsonBytes,
} from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import type { MaybePromise } from '../async/steps.ts'
import type { RequestHeaders } from './request-head.ts'

const EMPTY: JsonObject = Object.freeze({})
export const NO_BYTES: Uint8Array = new Uint8Array()

/** Memory budget for request bodies. */
export interface BodyBudget {
  reserveBytes(count: number): boolean
  /** The body has been read or refused. */
  releaseBytes(count: number): void
  /** Receives the reading when it starts, to cancel it when it is too slow or others need the memory. */
  watch?(reading: OpenReading): void
}

/** An arriving body. */
export interface OpenReading {
  readonly received: number
  cut(refusal: Refusal): void
}

/** Returns true when the head announces a body. A request without one is complete with its head. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

/** Returns true when the head announces a small body. One of unknown length may become large. */
export function isShort({ headers }: IncomingMessage): boolean {
  const declared = headers['content-length']
  return declared !== undefined && Number(declared) <= LIMITS.nodeBodyBytes
}

/** Refuses a body whose declared length is over the limit (protocol/core 3). */
export function checkDeclaredLength({ headers }: IncomingMessage, maxBytes: number): void {
  const declared = headers['content-length']
  if (declared !== undefined && Number(declared) > maxBytes) throw new Refusal('request_entity_too_large')
}

/** Reads the raw body. The size limit applies to the declared length and again while reading (protocol/core 3). */
export function readBodyBytes(
  request: IncomingMessage,
  maxBytes: number,
  budget: BodyBudget,
): MaybePromise<Uint8Array> {
  if (!hasBody(request)) return NO_BYTES
  checkDeclaredLength(request, maxBytes)
  return receiveBody(request, maxBytes, budget)
}

/** Reads the body of a request whose declared length was checked. */
export function receiveBody(request: IncomingMessage, maxBytes: number, budget: BodyBudget): Promise<Uint8Array> {
  return new Promise((resolve, reject) => new BodyReading(request, maxBytes, budget).start(resolve, reject))
}

/** First buffer size, so that a body in many small pieces is not copied for each piece. */
const FIRST_CAPACITY = 16_384

/** Reads one arriving body. Uses stream events, because iterating over the stream is much slower. */
class BodyReading implements OpenReading {
  readonly #request: IncomingMessage
  readonly #maxBytes: number
  readonly #budget: BodyBudget
  /** One buffer, not a list of pieces: a piece of one byte would use 200 bytes. */
  #bytes: Uint8Array = NO_BYTES
  #taken = 0
  #size = 0
  #pieces = 0
  #isOver = false
  #give: (refusal?: Refusal) => void = () => undefined

  constructor(request: IncomingMessage, maxBytes: number, budget: BodyBudget) {
    this.#request = request
    this.#maxBytes = maxBytes
    this.#budget = budget
  }

  get received(): number {
    return this.#size
  }

  cut(refusal: Refusal): void {
    this.#give(refusal)
  }

  start(resolve: (bytes: Uint8Array) => void, reject: (refusal: Refusal) => void): void {
    const give = (refusal?: Refusal): void => {
      if (this.#isOver) return
      this.#isOver = true
      this.#budget.releaseBytes(this.#taken)
      if (refusal === undefined) resolve(this.#whole())
      else reject(refusal)
      this.#bytes = NO_BYTES
    }
    this.#give = give
    // The caller closed the connection or broke the framing: no response is possible, and work must stop.
    const onBroken = (cause?: Error): void => {
      if (!this.#isOver) give(new Refusal('bad_request', {}, cause === undefined ? {} : { cause }))
    }
    // The caller may have gone during the limiter check: then no event follows.
    if (this.#request.destroyed) return onBroken()
    this.#budget.watch?.(this)
    this.#request
      .on('data', (chunk: Buffer) => {
        // After a refusal, further bytes are read and dropped until the connection is closed.
        const refusal = this.#isOver ? undefined : this.#take(chunk)
        if (refusal !== undefined) give(refusal)
      })
      .on('end', () => give())
      .on('error', onBroken)
      .on('close', onBroken)
  }

  #take(chunk: Buffer): Refusal | undefined {
    const size = this.#size + chunk.length
    if (size > this.#maxBytes) return new Refusal('request_entity_too_large')
    this.#pieces += 1
    if (this.#pieces > SERVER_LIMITS.bodyPieces) return new Refusal('bad_request')
    if (size > this.#bytes.length && !this.#grow(chunk, size))
      return new Refusal('service_unavailable', { reason: 'overloaded' })
    if (this.#bytes !== chunk) this.#bytes.set(chunk, this.#size)
    this.#size = size
    return undefined
  }

  #whole(): Uint8Array {
    return this.#bytes.length === this.#size ? this.#bytes : this.#bytes.subarray(0, this.#size)
  }

  /** Most bodies arrive in one piece, which is not copied. */
  #grow(chunk: Buffer, size: number): boolean {
    const capacity = this.#size === 0 ? size : this.#nextCapacity(size)
    if (!this.#budget.reserveBytes(capacity - this.#taken)) return false
    this.#taken = capacity
    if (this.#size === 0) {
      this.#bytes = chunk
      return true
    }
    const grown = Buffer.allocUnsafe(capacity)
    grown.set(this.#bytes.subarray(0, this.#size))
    this.#bytes = grown
    return true
  }

  #nextCapacity(size: number): number {
    const declared = Number(this.#request.headers['content-length'] ?? this.#maxBytes)
    return Math.max(size, Math.min(declared, Math.max(FIRST_CAPACITY, 2 * this.#taken)))
  }
}

const JSON_TYPE = /^application\/json[ \t]*(?:;.*)?$/i

/** Parses the JSON object of a body by the rules of protocol/core 1.1. */
export function readBody(bytes: Uint8Array, headers: RequestHeaders, route: Route): JsonObject {
  if (bytes.length > 0) checkCoding(headers)
  if (route.method === 'GET') {
    // No signature covers the body of a read, and only some proxies forward it.
    if (bytes.length > 0 && Buffer.from(bytes).toString('latin1').trim() !== '{}') throw new Refusal('bad_request')
    return EMPTY
  }
  if (bytes.length === 0) {
    if (route.emptyBody === 'refused') throw new Refusal('invalid_json')
    return EMPTY
  }
  return readObject(bytes, route)
}

/** Accepts JSON without content coding only (reliability 3). */
export function checkCoding(headers: RequestHeaders): void {
  const type = headers.get('content-type')
  if (type !== undefined && !JSON_TYPE.test(type)) throw new Refusal('unsupported_media_type')
  // Coded bodies are refused, never decoded: a small one can expand to gigabytes.
  const codings = headers.all('content-encoding')
  if (codings.some((coding) => coding.trim().toLowerCase() !== 'identity')) throw new Refusal('unsupported_media_type')
}

function readObject(bytes: Uint8Array, route: Route): JsonObject {
  const { values, namesPerObject } = READ_LIMITS[route.readLimit ?? 'normal']
  try {
    const value = readJsonBytes(bytes, { maxDepth: 64, maxValues: values, maxNames: namesPerObject })
    if (isJsonObject(value)) return value
  } catch (error) {
    if (error instanceof JsonError) throw new Refusal('invalid_json', {}, { cause: error })
    throw error
  }
  throw new Refusal('invalid_json_object')
}

type RecordRoute = Pick<Route, 'records' | 'readLimit'>

/**
 * Replaces every `X_text` of a body by the record X that it contains, for the records that the route lists. The text is
 * read by the reader of bodies, so numbers keep their form (protocol/core 1.3). A record that is sent in
 * both forms, and a text that is not JSON, get the route's code for a malformed X.
 */
export function readRecordTexts(body: JsonObject, route: RecordRoute): JsonObject {
  return Object.entries(route.records ?? {}).reduce(
    (read, [path, code]) => replaceText(read, path.split('.'), { route, code, depth: 1 }),
    body,
  )
}

interface Place {
  readonly route: RecordRoute
  readonly code: RefusalCode
  /** How deep in the body the record is. */
  readonly depth: number
}

function replaceText(object: JsonObject, [name = '', ...rest]: readonly string[], place: Place): JsonObject {
  if (rest.length > 0) {
    const inner = member(object, name)
    if (!isJsonObject(inner)) return object
    return { ...object, [name]: replaceText(inner, rest, { ...place, depth: place.depth + 1 }) }
  }
  const field = `${name}_text`
  const text = member(object, field)
  if (text === undefined) return object
  if (typeof text !== 'string' || Object.hasOwn(object, name)) throw new Refusal(place.code, { field })
  const { [field]: _, ...others } = object
  return { ...others, [name]: readText(text, field, place) }
}

function readText(text: string, field: string, { route, code, depth }: Place): JsonValue {
  const { values, namesPerObject } = READ_LIMITS[route.readLimit ?? 'normal']
  const maxDepth = JSON_LIMITS.maxDepth - depth
  try {
    return readJson(text, { maxDepth, maxValues: values, maxNames: namesPerObject })
  } catch (error) {
    if (error instanceof JsonError) throw new Refusal(code, { field }, { cause: error })
    throw error
  }
}
