import type { IncomingMessage } from 'node:http'
import { LIMITS, READ_LIMITS, Refusal, SERVER_LIMITS } from '@chancery/contract'
import type { Route } from '@chancery/contract'
import { isJsonObject, JsonError, readJsonBytes } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { MaybePromise } from '../async/maybe-promise.ts'
import type { RequestHeaders } from './call.ts'

const EMPTY: JsonObject = Object.freeze({})
export const NO_BYTES: Uint8Array = new Uint8Array()

/** Room for the bodies of requests. */
export interface BodyBudget {
  reserveBytes(count: number): boolean
  /** The body has been read or refused. */
  releaseBytes(count: number): void
  /** Receives the reading when it begins, to cut it when it is too slow or too large for its neighbours. */
  watch?(reading: OpenReading): void
}

/** A body on its way. */
export interface OpenReading {
  readonly received: number
  cut(refusal: Refusal): void
}

/** True when the head announces a body; a request without one is whole before the parser says so. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

/** True when the head promises a body that is quick to take in; of unknown length it may become a large one. */
export function isShort({ headers }: IncomingMessage): boolean {
  const declared = headers['content-length']
  return declared !== undefined && Number(declared) <= LIMITS.nodeBodyBytes
}

/** Refuses what the declared length already says (protocol/core 3). */
export function checkDeclaredLength({ headers }: IncomingMessage, maxBytes: number): void {
  const declared = headers['content-length']
  if (declared !== undefined && Number(declared) > maxBytes) throw new Refusal('request_entity_too_large')
}

/** The raw body, size enforced from the declared length and again while reading (protocol/core 3). */
export function readBodyBytes(request: IncomingMessage, maxBytes: number, room: BodyBudget): MaybePromise<Uint8Array> {
  if (!hasBody(request)) return NO_BYTES
  checkDeclaredLength(request, maxBytes)
  return receiveBody(request, maxBytes, room)
}

/** The same for a request that has a body, and whose declared length was looked at. */
export function receiveBody(request: IncomingMessage, maxBytes: number, room: BodyBudget): Promise<Uint8Array> {
  return new Promise((resolve, reject) => new BodyReading(request, maxBytes, room).start(resolve, reject))
}

/** Where growing begins, so that a body in many small pieces is not copied with each of them. */
const FIRST_CAPACITY = 16_384

/** One arriving body. Uses the events of the stream: iterating over it costs more than everything else here. */
class BodyReading implements OpenReading {
  readonly #request: IncomingMessage
  readonly #maxBytes: number
  readonly #room: BodyBudget
  /** Never a list of pieces: each piece of one byte would cost two hundred. */
  #bytes: Uint8Array = NO_BYTES
  #taken = 0
  #size = 0
  #pieces = 0
  #isOver = false
  #give: (refusal?: Refusal) => void = () => undefined

  constructor(request: IncomingMessage, maxBytes: number, room: BodyBudget) {
    this.#request = request
    this.#maxBytes = maxBytes
    this.#room = room
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
      this.#room.releaseBytes(this.#taken)
      if (refusal === undefined) resolve(this.#whole())
      else reject(refusal)
      this.#bytes = NO_BYTES
    }
    this.#give = give
    // The caller went away or broke the framing: nothing is left to answer, but nothing may go on either.
    const onBroken = (cause?: Error): void => {
      if (!this.#isOver) give(new Refusal('bad_request', {}, cause === undefined ? {} : { cause }))
    }
    // It may have gone while the limiter was asked: then no event will say so again.
    if (this.#request.destroyed) return onBroken()
    this.#room.watch?.(this)
    this.#request
      .on('data', (chunk: Buffer) => {
        // What follows a refusal is read and dropped until the connection is closed.
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

  /** Most bodies are one piece, which is used without a copy. */
  #grow(chunk: Buffer, size: number): boolean {
    const capacity = this.#size === 0 ? size : this.#nextCapacity(size)
    if (!this.#room.reserveBytes(capacity - this.#taken)) return false
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

/** The JSON object of a body, by the rules of protocol/core 1.1. */
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

/** Only JSON, and only as it is (reliability 3). */
export function checkCoding(headers: RequestHeaders): void {
  const type = headers.get('content-type')
  if (type !== undefined && !JSON_TYPE.test(type)) throw new Refusal('unsupported_media_type')
  // Coded bodies are refused, never decoded: a small one can unfold to gigabytes.
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
