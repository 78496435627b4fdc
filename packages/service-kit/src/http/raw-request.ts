import type { IncomingMessage } from 'node:http'
import { Refusal, SERVER_LIMITS } from '@chancery/contract'

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
  if (request.method === 'TRACE' || request.method === 'CONNECT') throw new Refusal('bad_request')
  const raw = request.rawHeaders
  if (raw.length / 2 > SERVER_LIMITS.headerCount) throw new Refusal('request_header_fields_too_large')
  const seen = new Set<string>()
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] ?? '').toLowerCase()
    if (!ONCE.has(name)) continue
    if (seen.has(name)) throw new Refusal('bad_request')
    seen.add(name)
  }
  // Both framings at once is the classic smuggling vector.
  if (seen.has('content-length') && seen.has('transfer-encoding')) throw new Refusal('bad_request')
}
