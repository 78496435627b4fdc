import type { IncomingMessage } from 'node:http'
import { Refusal, SERVER_LIMITS } from '@chancery/contract'
import { MalformedRequest } from './malformed-request.ts'

/** Names whose repetition lets two parsers see two requests (request smuggling, header injection). */
const ONCE: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'content-type',
  'authorization',
])

/**
 * What the platform parser lets through and we do not. Looked at on the raw list, since the parsed object has already
 * dropped or joined repeated names.
 */
export function checkRawRequest(request: IncomingMessage): void {
  if (request.method === 'TRACE' || request.method === 'CONNECT') throw new MalformedRequest()
  const raw = request.rawHeaders
  if (raw.length / 2 > SERVER_LIMITS.headerCount) throw new Refusal('request_header_fields_too_large')
  const seen = new Set<string>()
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] ?? '').toLowerCase()
    if (!ONCE.has(name)) continue
    if (seen.has(name)) throw new MalformedRequest()
    seen.add(name)
  }
  // HTTP/1.1 requires it, and a proxy in front may have routed by another one.
  if (!seen.has('host') && request.httpVersion === '1.1') throw new MalformedRequest()
  // Both framings at once is the classic smuggling vector.
  if (seen.has('content-length') && seen.has('transfer-encoding')) throw new MalformedRequest()
}
