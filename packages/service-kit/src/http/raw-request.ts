import type { IncomingMessage } from 'node:http'
import { Refusal, SERVER_LIMITS } from '@chancery/contract'
import { MalformedRequestError } from './malformed-request.ts'

/** Names whose repetition lets two parsers see two requests (request smuggling, header injection), each as one bit. */
const ONCE = {
  host: 1,
  'content-length': 2,
  'transfer-encoding': 4,
  'content-type': 8,
  authorization: 16,
} as const
const BY_NAME: ReadonlyMap<string, number> = new Map(Object.entries(ONCE))
const LENGTHS: ReadonlySet<number> = new Set(Object.keys(ONCE).map((name) => name.length))

/**
 * Refuses requests that Node's parser accepts but this service does not. Uses the raw header list, because the parsed
 * object has already dropped or joined repeated names.
 */
export function checkRawRequest(request: IncomingMessage): void {
  if (request.method === 'TRACE' || request.method === 'CONNECT') throw new MalformedRequestError()
  const raw = request.rawHeaders
  if (raw.length / 2 > SERVER_LIMITS.headerCount) throw new Refusal('request_header_fields_too_large')
  let seen = 0
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] ?? ''
    if (!LENGTHS.has(name.length)) continue
    const bit = BY_NAME.get(name.toLowerCase()) ?? 0
    if ((seen & bit) !== 0) throw new MalformedRequestError()
    seen |= bit
  }
  // HTTP/1.1 requires Host, and a proxy may have routed by another one.
  if ((seen & ONCE.host) === 0 && request.httpVersion === '1.1') throw new MalformedRequestError()
  // Both framings together allow request smuggling.
  if ((seen & ONCE['content-length']) !== 0 && (seen & ONCE['transfer-encoding']) !== 0)
    throw new MalformedRequestError()
}
