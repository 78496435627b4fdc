import type { IncomingMessage } from 'node:http'
import { READ_LIMITS, Refusal } from '@chancery/contract'
import type { Route } from '@chancery/contract'
import { isJsonObject, JsonError, readJsonBytes } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { RequestHeaders } from './call.ts'

const EMPTY: JsonObject = Object.freeze({})
const NO_BYTES = new Uint8Array()

/** Room for bodies that are being read, shared by all requests of the process. */
export interface BodyRoom {
  takeBytes(count: number): boolean
  giveBytes(count: number): void
}

/** The raw body, size enforced from the declared length and again while reading (protocol/core 3). */
export async function readBodyBytes(request: IncomingMessage, maxBytes: number, room: BodyRoom): Promise<Uint8Array> {
  const declared = request.headers['content-length']
  if (declared === undefined && request.headers['transfer-encoding'] === undefined) return NO_BYTES
  if (declared !== undefined && Number(declared) > maxBytes) throw new Refusal('request_entity_too_large')
  const chunks: Buffer[] = []
  let size = 0
  let taken = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxBytes) throw new Refusal('request_entity_too_large')
      if (!room.takeBytes(chunk.length)) throw new Refusal('service_unavailable')
      taken += chunk.length
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof Refusal) throw error
    // The caller went away or broke the framing: nobody is left to answer, but nothing may go on either.
    throw new Refusal('bad_request', {}, { cause: error })
  } finally {
    room.giveBytes(taken)
  }
  return chunks.length === 1 ? (chunks[0] ?? NO_BYTES) : Buffer.concat(chunks, size)
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

function checkCoding(headers: RequestHeaders): void {
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
