import type { IncomingMessage } from 'node:http'
import { READ_LIMITS, Refusal } from '@chancery/contract'
import type { Route } from '@chancery/contract'
import { isJsonObject, JsonError, readJsonBytes } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Soon } from '../soon.ts'
import type { RequestHeaders } from './call.ts'

const EMPTY: JsonObject = Object.freeze({})
const NO_BYTES = new Uint8Array()

/** Room for bodies that are being read, shared by all requests of the process. */
export interface BodyRoom {
  takeBytes(count: number): boolean
  giveBytes(count: number): void
}

/** True when the head announces a body; a request without one is whole before the parser says so. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

/** The raw body, size enforced from the declared length and again while reading (protocol/core 3). */
export function readBodyBytes(request: IncomingMessage, maxBytes: number, room: BodyRoom): Soon<Uint8Array> {
  if (!hasBody(request)) return NO_BYTES
  const declared = request.headers['content-length']
  if (declared !== undefined && Number(declared) > maxBytes) throw new Refusal('request_entity_too_large')
  return new Promise((resolve, reject) => new BodyReading(request, maxBytes, room).start(resolve, reject))
}

/** One body on its way. Listens to the stream itself: iterating over it costs more than everything else here. */
class BodyReading {
  readonly #request: IncomingMessage
  readonly #maxBytes: number
  readonly #room: BodyRoom
  readonly #chunks: Buffer[] = []
  #size = 0
  #isOver = false

  constructor(request: IncomingMessage, maxBytes: number, room: BodyRoom) {
    this.#request = request
    this.#maxBytes = maxBytes
    this.#room = room
  }

  start(resolve: (bytes: Uint8Array) => void, reject: (refusal: Refusal) => void): void {
    const give = (refusal?: Refusal): void => {
      if (this.#isOver) return
      this.#isOver = true
      this.#room.giveBytes(this.#size)
      if (refusal === undefined) resolve(this.#whole())
      else reject(refusal)
    }
    // The caller went away or broke the framing: nobody is left to answer, but nothing may go on either.
    const onBroken = (cause?: Error): void => {
      if (!this.#isOver) give(new Refusal('bad_request', {}, cause === undefined ? {} : { cause }))
    }
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
    if (this.#size + chunk.length > this.#maxBytes) return new Refusal('request_entity_too_large')
    if (!this.#room.takeBytes(chunk.length)) return new Refusal('service_unavailable')
    this.#size += chunk.length
    this.#chunks.push(chunk)
    return undefined
  }

  #whole(): Uint8Array {
    return this.#chunks.length === 1 ? (this.#chunks[0] ?? NO_BYTES) : Buffer.concat(this.#chunks, this.#size)
  }
}

const JSON_TYPE = /^application\/json[ \t]*(?:;.*)?$/i

/** The JSON object of a body, by the rules of protocol/core 1.1. */
export function readBody(bytes: Uint8Array, headers: RequestHeaders, route: Route): JsonObject {
  if (bytes.length > 0) checkCoding(headers)
  if (route.method === 'GET') {
    // A body on a read would be signed by nobody and seen by some proxies only.
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
